; Two pieces of food, and one machine for each step.
(define (problem kitchen-small)
  (:domain kitchen)
  (:objects carrot leek - food sink board stove - machine)
  (:init (clean sink) (clean board) (clean stove) (washes sink) (chops board) (heats stove))
  (:goal (cooked carrot)))
