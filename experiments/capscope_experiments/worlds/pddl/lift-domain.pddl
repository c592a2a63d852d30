; A lift moves between floors while its door is shut. The order of the floors is static.
(define (domain lift)
  (:requirements :strips :typing :negative-preconditions)
  (:types floor person)
  (:predicates
    (lift-at ?floor - floor)
    (door-open)
    (waits ?person - person ?floor - floor)
    (inside ?person - person)
    (above ?upper - floor ?lower - floor))

  (:action up
    :parameters (?from - floor ?to - floor)
    :precondition (and (lift-at ?from) (above ?to ?from) (not (door-open)))
    :effect (and (lift-at ?to) (not (lift-at ?from))))

  (:action down
    :parameters (?from - floor ?to - floor)
    :precondition (and (lift-at ?from) (above ?from ?to) (not (door-open)))
    :effect (and (lift-at ?to) (not (lift-at ?from))))

  (:action open
    :parameters ()
    :precondition (not (door-open))
    :effect (door-open))

  (:action shut
    :parameters ()
    :precondition (door-open)
    :effect (not (door-open)))

  (:action enter
    :parameters (?person - person ?floor - floor)
    :precondition (and (lift-at ?floor) (door-open) (waits ?person ?floor))
    :effect (and (inside ?person) (not (waits ?person ?floor))))

  (:action leave
    :parameters (?person - person ?floor - floor)
    :precondition (and (lift-at ?floor) (door-open) (inside ?person))
    :effect (and (waits ?person ?floor) (not (inside ?person)))))
