; Four pieces of food, two boards and three stoves.
(define (problem kitchen-large)
  (:domain kitchen)
  (:objects
    carrot leek bean plum - food
    sink board slab stove grill oven - machine)
  (:init (clean sink) (clean board) (clean slab) (clean stove) (clean grill) (clean oven)
    (washes sink) (chops board) (chops slab) (heats stove) (heats grill) (heats oven))
  (:goal (cooked carrot)))
