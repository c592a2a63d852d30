; A robot carries balls through doors, one in each hand.
(define (domain rooms)
  (:requirements :strips :typing)
  (:types room ball hand)
  (:predicates
    (robot-in ?room - room)
    (ball-in ?ball - ball ?room - room)
    (free ?hand - hand)
    (carries ?hand - hand ?ball - ball)
    (door ?from - room ?to - room))

  (:action move
    :parameters (?from - room ?to - room)
    :precondition (and (robot-in ?from) (door ?from ?to))
    :effect (and (robot-in ?to) (not (robot-in ?from))))

  (:action grasp
    :parameters (?ball - ball ?hand - hand ?room - room)
    :precondition (and (robot-in ?room) (ball-in ?ball ?room) (free ?hand))
    :effect (and (carries ?hand ?ball) (not (ball-in ?ball ?room)) (not (free ?hand))))

  (:action release
    :parameters (?ball - ball ?hand - hand ?room - room)
    :precondition (and (robot-in ?room) (carries ?hand ?ball))
    :effect (and (ball-in ?ball ?room) (free ?hand) (not (carries ?hand ?ball)))))
