; Two burning locations, one with water and one with the hospital and two victims.
(define (problem two-fires)
  (:domain first-responders)
  (:objects
    l1 l2 - location
    f1 - fire_unit
    m1 - medical_unit
    z1 z2 - victim)
  (:init
    (hospital l2) (water-at l1)
    (fire l1) (fire l2)
    (victim-at z1 l2) (victim-hurt z1)
    (victim-at z2 l2) (victim-dying z2)
    (adjacent l1 l2) (adjacent l2 l1)
    (fire-unit-at f1 l1) (medical-unit-at m1 l2))
  (:goal (and (nfire l1) (nfire l2) (victim-healthy z1) (victim-healthy z2))))
