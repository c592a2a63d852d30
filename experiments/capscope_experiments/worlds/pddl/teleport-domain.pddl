; A walker on paths between cells; some cells have a pad that sends to another pad, or beside it.
; A jump may drain the walker's charge, which a charger gives back.
(define (domain teleport)
  (:requirements :strips :typing :negative-preconditions :probabilistic-effects)
  (:types cell)
  (:predicates
    (walker-at ?cell - cell)
    (charged)
    (path ?from - cell ?to - cell)
    (jump ?from - cell ?to - cell ?beside - cell)
    (charger ?cell - cell))

  (:action walk
    :parameters (?from - cell ?to - cell)
    :precondition (and (walker-at ?from) (path ?from ?to))
    :effect (and (walker-at ?to) (not (walker-at ?from))))

  (:action teleport
    :parameters (?from - cell ?to - cell ?beside - cell)
    :precondition (and (walker-at ?from) (jump ?from ?to ?beside) (charged))
    :effect (and
      (probabilistic 0.6 (and (walker-at ?to) (not (walker-at ?from)))
                     0.25 (and (walker-at ?beside) (not (walker-at ?from))))
      (probabilistic 0.3 (not (charged)))))

  (:action charge
    :parameters (?cell - cell)
    :precondition (and (walker-at ?cell) (charger ?cell) (not (charged)))
    :effect (charged)))
