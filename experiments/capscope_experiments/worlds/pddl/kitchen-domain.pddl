; Food is washed, then chopped, then cooked, each by a machine that can do it and is clean. Chopping
; and cooking leave the machine dirty and may fail; a piece can be replaced with a fresh one.
(define (domain kitchen)
  (:requirements :strips :typing :negative-preconditions :probabilistic-effects)
  (:types food machine)
  (:predicates
    (washed ?food - food)
    (chopped ?food - food)
    (cooked ?food - food)
    (clean ?machine - machine)
    (washes ?machine - machine)
    (chops ?machine - machine)
    (heats ?machine - machine))

  (:action wash
    :parameters (?food - food ?machine - machine)
    :precondition (and (washes ?machine) (not (washed ?food)))
    :effect (washed ?food))

  (:action chop
    :parameters (?food - food ?machine - machine)
    :precondition (and (chops ?machine) (clean ?machine) (washed ?food) (not (chopped ?food)))
    :effect (and (not (clean ?machine)) (probabilistic 0.8 (chopped ?food))))

  (:action cook
    :parameters (?food - food ?machine - machine)
    :precondition (and (heats ?machine) (clean ?machine) (chopped ?food) (not (cooked ?food)))
    :effect (and (not (clean ?machine)) (probabilistic 0.9 (cooked ?food))))

  (:action scrub
    :parameters (?machine - machine)
    :precondition (not (clean ?machine))
    :effect (clean ?machine))

  (:action replace
    :parameters (?food - food)
    :precondition (washed ?food)
    :effect (and (not (washed ?food)) (not (chopped ?food)) (not (cooked ?food)))))
