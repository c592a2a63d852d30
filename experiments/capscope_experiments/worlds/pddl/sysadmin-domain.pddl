; In every step one machine is rebooted, and each other one that runs may fail: with 0.05, and also
; with 0.3 if a machine that it depends on is down.
(define (domain sysadmin)
  (:requirements :adl :probabilistic-effects)
  (:types machine)
  (:predicates (running ?machine - machine) (link ?from - machine ?to - machine))

  (:action reboot
    :parameters (?machine - machine)
    :effect (and
      (probabilistic 0.95 (running ?machine))
      (forall (?other - machine)
        (when (and (running ?other) (not (= ?other ?machine)))
          (probabilistic 0.05 (not (running ?other)))))
      (forall (?other - machine)
        (when (and (running ?other) (not (= ?other ?machine))
                   (exists (?near - machine) (and (link ?near ?other) (not (running ?near)))))
          (probabilistic 0.3 (not (running ?other))))))))
