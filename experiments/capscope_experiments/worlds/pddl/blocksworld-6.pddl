; Six blocks side by side.
(define (problem blocksworld-6)
  (:domain blocksworld)
  (:objects a b c d e f - block robot - robot)
  (:init
    (clear a) (clear b) (clear c) (clear d) (clear e) (clear f)
    (ontable a) (ontable b) (ontable c) (ontable d) (ontable e) (ontable f)
    (handempty robot))
  (:goal (and (on a b) (on b c) (on c d) (on d e) (on e f))))
