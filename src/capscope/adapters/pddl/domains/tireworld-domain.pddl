; A car on a road map. Driving mostly costs a tire; a spare is used up by changing it.
(define (domain tireworld)
  (:requirements :strips :typing :negative-preconditions :probabilistic-effects)
  (:types location)
  (:predicates
    (vehicle-at ?loc - location)
    (spare-in ?loc - location)
    (road ?from - location ?to - location)
    (not-flattire))

  (:action move-car
    :parameters (?from - location ?to - location)
    :precondition (and (vehicle-at ?from) (road ?from ?to) (not-flattire))
    :effect (and (vehicle-at ?to) (not (vehicle-at ?from))
                 (probabilistic 0.8 (not (not-flattire)))))

  (:action change-tire
    :parameters (?loc - location)
    :precondition (and (vehicle-at ?loc) (spare-in ?loc) (not (not-flattire)))
    :effect (and (not-flattire) (not (spare-in ?loc)))))
