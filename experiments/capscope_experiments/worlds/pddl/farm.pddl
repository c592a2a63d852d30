; Three machines.
(define (problem farm)
  (:domain farm)
  (:objects mill press saw - machine)
  (:init (runs mill) (oiled mill) (runs press) (runs saw) (oiled saw))
  (:goal (and (runs mill) (runs press) (runs saw))))
