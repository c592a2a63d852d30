; One hand rearranges blocks on a table. The hand is a robot that is either empty or full.
(define (domain blocksworld)
  (:requirements :strips :typing)
  (:types block robot)
  (:predicates
    (on ?x - block ?y - block)
    (ontable ?x - block)
    (clear ?x - block)
    (handempty ?r - robot)
    (handfull ?r - robot)
    (holding ?x - block))

  (:action pick-up
    :parameters (?x - block ?r - robot)
    :precondition (and (clear ?x) (ontable ?x) (handempty ?r))
    :effect (and (holding ?x) (handfull ?r)
                 (not (ontable ?x)) (not (clear ?x)) (not (handempty ?r))))

  (:action put-down
    :parameters (?x - block ?r - robot)
    :precondition (and (holding ?x) (handfull ?r))
    :effect (and (ontable ?x) (clear ?x) (handempty ?r)
                 (not (holding ?x)) (not (handfull ?r))))

  (:action stack
    :parameters (?x - block ?y - block ?r - robot)
    :precondition (and (holding ?x) (clear ?y) (handfull ?r))
    :effect (and (on ?x ?y) (clear ?x) (handempty ?r)
                 (not (holding ?x)) (not (clear ?y)) (not (handfull ?r))))

  (:action unstack
    :parameters (?x - block ?y - block ?r - robot)
    :precondition (and (on ?x ?y) (clear ?x) (handempty ?r))
    :effect (and (holding ?x) (clear ?y) (handfull ?r)
                 (not (on ?x ?y)) (not (clear ?x)) (not (handempty ?r)))))
