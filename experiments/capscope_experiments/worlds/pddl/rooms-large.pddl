; Eight rooms, two ways between some of them, and six balls.
(define (problem rooms-large)
  (:domain rooms)
  (:objects
    hall kitchen study attic cellar porch shed bath - room
    red blue green white black gold - ball
    left right - hand)
  (:init (robot-in hall) (free left) (free right)
    (ball-in red kitchen) (ball-in blue study) (ball-in green cellar)
    (ball-in white hall) (ball-in black shed) (ball-in gold attic)
    (door hall kitchen) (door kitchen hall) (door kitchen study) (door study kitchen)
    (door study attic) (door attic study) (door hall porch) (door porch hall)
    (door porch shed) (door shed porch) (door kitchen cellar) (door cellar kitchen)
    (door cellar shed) (door shed cellar) (door attic bath) (door bath attic))
  (:goal (ball-in red attic)))
