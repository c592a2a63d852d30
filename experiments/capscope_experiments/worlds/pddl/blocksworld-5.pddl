; Five blocks side by side.
(define (problem blocksworld-5)
  (:domain blocksworld)
  (:objects a b c d e - block robot - robot)
  (:init
    (clear a) (clear b) (clear c) (clear d) (clear e)
    (ontable a) (ontable b) (ontable c) (ontable d) (ontable e)
    (handempty robot))
  (:goal (and (on a b) (on b c) (on c d) (on d e))))
