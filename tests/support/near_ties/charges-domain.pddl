; A gripper piles up charges. Setting one down may set it off, once: then whatever is beneath it, a
; charge or the floor, is wrecked, and nothing can be taken from there or set down there any more.
(define (domain charges)
  (:requirements :typing :negative-preconditions :conditional-effects :probabilistic-effects)
  (:types charge)
  (:predicates (upon ?c - charge ?d - charge) (floor ?c - charge) (free ?c - charge)
    (held ?c - charge) (idle) (live ?c - charge) (whole ?c - charge) (floor-whole))

  (:action lift
    :parameters (?c - charge)
    :precondition (and (floor ?c) (free ?c) (idle) (whole ?c))
    :effect (and (held ?c) (not (idle)) (not (floor ?c)) (not (free ?c))))

  (:action take
    :parameters (?c - charge ?d - charge)
    :precondition (and (upon ?c ?d) (free ?c) (idle) (whole ?c))
    :effect (and (held ?c) (free ?d) (not (idle)) (not (upon ?c ?d)) (not (free ?c))))

  (:action drop
    :parameters (?c - charge)
    :precondition (and (held ?c) (floor-whole))
    :effect (and (floor ?c) (free ?c) (idle) (not (held ?c))
      (when (live ?c) (probabilistic 0.4 (and (not (floor-whole)) (not (live ?c)))))))

  (:action pile
    :parameters (?c - charge ?d - charge)
    :precondition (and (held ?c) (free ?d) (whole ?d))
    :effect (and (upon ?c ?d) (free ?c) (idle) (not (held ?c)) (not (free ?d))
      (when (live ?c) (probabilistic 0.1 (and (not (whole ?d)) (not (live ?c))))))))
