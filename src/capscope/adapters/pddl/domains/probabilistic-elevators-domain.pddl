; Coins lie on the floors of a building. A gate may drop whoever walks on from it underground.
(define (domain probabilistic-elevators)
  (:requirements :strips :typing :negative-preconditions :probabilistic-effects)
  (:types floor pos elevator coin)
  (:predicates
    (dec_f ?f - floor ?g - floor)
    (dec_p ?p - pos ?q - pos)
    (in ?e - elevator ?f - floor)
    (at ?f - floor ?p - pos)
    (shaft ?e - elevator ?p - pos)
    (inside ?e - elevator)
    (gate ?f - floor ?p - pos)
    (coin-at ?c - coin ?f - floor ?p - pos)
    (have ?c - coin)
    (underground)
    (is-first-floor ?f - floor)
    (is-first-position ?p - pos))

  (:action climb-out
    :parameters (?f - floor ?p - pos)
    :precondition (and (underground) (is-first-floor ?f) (is-first-position ?p))
    :effect (and (at ?f ?p) (not (underground))))

  (:action go-up
    :parameters (?e - elevator ?f - floor ?above - floor)
    :precondition (and (dec_f ?above ?f) (in ?e ?f))
    :effect (and (in ?e ?above) (not (in ?e ?f))))

  (:action go-down
    :parameters (?e - elevator ?f - floor ?below - floor)
    :precondition (and (dec_f ?f ?below) (in ?e ?f))
    :effect (and (in ?e ?below) (not (in ?e ?f))))

  (:action step-in
    :parameters (?e - elevator ?f - floor ?p - pos)
    :precondition (and (at ?f ?p) (in ?e ?f) (shaft ?e ?p))
    :effect (and (inside ?e) (not (at ?f ?p))))

  (:action step-out
    :parameters (?e - elevator ?f - floor ?p - pos)
    :precondition (and (inside ?e) (in ?e ?f) (shaft ?e ?p))
    :effect (and (at ?f ?p) (not (inside ?e))))

  (:action move-left
    :parameters (?f - floor ?p - pos ?left - pos)
    :precondition (and (at ?f ?p) (dec_p ?p ?left) (not (gate ?f ?p)))
    :effect (and (at ?f ?left) (not (at ?f ?p))))

  (:action move-left-through-gate
    :parameters (?f - floor ?p - pos ?left - pos)
    :precondition (and (at ?f ?p) (dec_p ?p ?left) (gate ?f ?p))
    :effect (and (not (at ?f ?p)) (probabilistic 0.8 (at ?f ?left) 0.2 (underground))))

  (:action move-right
    :parameters (?f - floor ?p - pos ?right - pos)
    :precondition (and (at ?f ?p) (dec_p ?right ?p) (not (gate ?f ?p)))
    :effect (and (at ?f ?right) (not (at ?f ?p))))

  (:action move-right-through-gate
    :parameters (?f - floor ?p - pos ?right - pos)
    :precondition (and (at ?f ?p) (dec_p ?right ?p) (gate ?f ?p))
    :effect (and (not (at ?f ?p)) (probabilistic 0.8 (at ?f ?right) 0.2 (underground))))

  (:action collect
    :parameters (?c - coin ?f - floor ?p - pos)
    :precondition (and (at ?f ?p) (coin-at ?c ?f ?p))
    :effect (and (have ?c) (not (coin-at ?c ?f ?p)))))
