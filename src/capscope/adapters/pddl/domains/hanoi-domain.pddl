; The towers of Hanoi: a disk lies on a larger one or on a peg.
(define (domain hanoi)
  (:requirements :strips :typing)
  (:types disk peg - thing)
  (:predicates
    (on ?disk - disk ?below - thing)
    (clear ?thing - thing)
    (smaller ?disk - disk ?below - thing))

  (:action move
    :parameters (?disk - disk ?from - thing ?to - thing)
    :precondition (and (on ?disk ?from) (clear ?disk) (clear ?to) (smaller ?disk ?to))
    :effect (and (on ?disk ?to) (clear ?from) (not (on ?disk ?from)) (not (clear ?to)))))
