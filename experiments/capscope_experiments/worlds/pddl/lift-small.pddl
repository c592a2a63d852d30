; Four floors and two persons.
(define (problem lift-small)
  (:domain lift)
  (:objects f1 f2 f3 f4 - floor ann bob - person)
  (:init (lift-at f1) (waits ann f3) (waits bob f1) (above f2 f1) (above f3 f2) (above f4 f3))
  (:goal (waits ann f1)))
