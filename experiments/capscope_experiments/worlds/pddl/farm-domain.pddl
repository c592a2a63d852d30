; Machines that fail, each for itself and by its own condition: an oiled one with 0.05, a dry one
; with 0.4. A running machine uses up its oil.
(define (domain farm)
  (:requirements :adl :probabilistic-effects)
  (:types machine)
  (:predicates (runs ?machine - machine) (oiled ?machine - machine))

  (:action repair
    :parameters (?machine - machine)
    :precondition (not (runs ?machine))
    :effect (and (runs ?machine)
      (forall (?other - machine)
        (when (and (runs ?other) (oiled ?other)) (probabilistic 0.05 (not (runs ?other)))))
      (forall (?other - machine)
        (when (and (runs ?other) (not (oiled ?other))) (probabilistic 0.4 (not (runs ?other)))))))

  (:action oil
    :parameters (?machine - machine)
    :precondition (not (oiled ?machine))
    :effect (oiled ?machine))

  (:action run-dry
    :parameters (?machine - machine)
    :precondition (and (runs ?machine) (oiled ?machine))
    :effect (probabilistic 0.8 (not (oiled ?machine))))

  (:action stop
    :parameters (?machine - machine)
    :precondition (runs ?machine)
    :effect (not (runs ?machine))))
