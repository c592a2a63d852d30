; Four rooms in a row and two balls.
(define (problem rooms-small)
  (:domain rooms)
  (:objects hall kitchen study attic - room red blue - ball left right - hand)
  (:init (robot-in hall) (ball-in red kitchen) (ball-in blue study) (free left) (free right)
    (door hall kitchen) (door kitchen hall) (door kitchen study) (door study kitchen)
    (door study attic) (door attic study))
  (:goal (ball-in red attic)))
