; Servers in a ring. Whichever is restarted, any running one may stop at the same time, more likely
; if a neighbour is down.
(define (domain servers)
  (:requirements :typing :negative-preconditions :existential-preconditions :conditional-effects
                 :probabilistic-effects)
  (:types server)
  (:predicates (running ?s - server) (linked ?s - server ?t - server))

  (:action restart
    :parameters (?r - server)
    :effect (and
      (probabilistic 0.9 (running ?r))
      (forall (?s - server)
        (when (and (running ?s) (exists (?t - server) (and (linked ?t ?s) (not (running ?t)))))
          (probabilistic 0.3 (not (running ?s)))))
      (forall (?s - server)
        (when (and (running ?s)
                   (not (exists (?t - server) (and (linked ?t ?s) (not (running ?t))))))
          (probabilistic 0.05 (not (running ?s))))))))
