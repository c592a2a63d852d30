; Four blocks side by side.
(define (problem blocksworld-4)
  (:domain blocksworld)
  (:objects a b c d - block robot - robot)
  (:init
    (clear a) (clear b) (clear c) (clear d)
    (ontable a) (ontable b) (ontable c) (ontable d)
    (handempty robot))
  (:goal (and (on a b) (on b c) (on c d))))
