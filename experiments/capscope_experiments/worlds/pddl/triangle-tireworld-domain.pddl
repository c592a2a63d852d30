; Every second drive costs a tire. The car can carry one spare to where there is none.
(define (domain triangle-tireworld)
  (:requirements :strips :typing :negative-preconditions :probabilistic-effects)
  (:types town)
  (:predicates
    (car-at ?town - town)
    (spare-at ?town - town)
    (road ?from - town ?to - town)
    (carries-spare)
    (flat))

  (:action drive
    :parameters (?from - town ?to - town)
    :precondition (and (car-at ?from) (road ?from ?to) (not (flat)))
    :effect (and (car-at ?to) (not (car-at ?from)) (probabilistic 0.5 (flat))))

  (:action stow
    :parameters (?town - town)
    :precondition (and (car-at ?town) (spare-at ?town) (not (carries-spare)))
    :effect (and (carries-spare) (not (spare-at ?town))))

  (:action change
    :parameters ()
    :precondition (and (carries-spare) (flat))
    :effect (and (not (carries-spare)) (not (flat)))))
