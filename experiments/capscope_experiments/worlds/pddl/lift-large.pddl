; Eight floors and four persons.
(define (problem lift-large)
  (:domain lift)
  (:objects f1 f2 f3 f4 f5 f6 f7 f8 - floor ann bob cem dee - person)
  (:init (lift-at f1) (waits ann f3) (waits bob f1) (waits cem f8) (waits dee f5)
    (above f2 f1) (above f3 f2) (above f4 f3) (above f5 f4) (above f6 f5) (above f7 f6)
    (above f8 f7))
  (:goal (waits ann f1)))
