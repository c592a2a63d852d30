; A ring of four machines, all of them running.
(define (problem sysadmin-4)
  (:domain sysadmin)
  (:objects m1 m2 m3 m4 - machine)
  (:init (running m1) (running m2) (running m3) (running m4)
    (link m1 m2) (link m2 m3) (link m3 m4) (link m4 m1))
  (:goal (and (running m1) (running m2) (running m3) (running m4))))
