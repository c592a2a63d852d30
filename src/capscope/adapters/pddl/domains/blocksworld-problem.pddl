; Three blocks side by side.
(define (problem three-blocks)
  (:domain blocksworld)
  (:objects a b c - block robot - robot)
  (:init
    (clear a) (clear b) (clear c)
    (ontable a) (ontable b) (ontable c)
    (handempty robot))
  (:goal (and (on a b) (on b c))))
