; A fire unit puts out fires with water; both units treat victims, a hospital does so surely.
(define (domain first-responders)
  (:requirements :strips :typing :negative-preconditions :probabilistic-effects)
  (:types location victim fire_unit medical_unit)
  (:predicates
    (fire ?l - location)
    (nfire ?l - location)
    (victim-at ?v - victim ?l - location)
    (victim-healthy ?v - victim)
    (victim-hurt ?v - victim)
    (victim-dying ?v - victim)
    (hospital ?l - location)
    (water-at ?l - location)
    (adjacent ?l1 - location ?l2 - location)
    (fire-unit-at ?u - fire_unit ?l - location)
    (medical-unit-at ?u - medical_unit ?l - location)
    (have-water ?u - fire_unit)
    (have-victim-in-unit ?v - victim ?u - medical_unit))

  (:action drive-fire-unit
    :parameters (?u - fire_unit ?from - location ?to - location)
    :precondition (and (fire-unit-at ?u ?from) (adjacent ?from ?to) (nfire ?to))
    :effect (and (fire-unit-at ?u ?to) (not (fire-unit-at ?u ?from))))

  (:action drive-medical-unit
    :parameters (?u - medical_unit ?from - location ?to - location)
    :precondition (and (medical-unit-at ?u ?from) (adjacent ?from ?to) (nfire ?to))
    :effect (and (medical-unit-at ?u ?to) (not (medical-unit-at ?u ?from))))

  (:action load-water
    :parameters (?u - fire_unit ?l - location)
    :precondition (and (fire-unit-at ?u ?l) (water-at ?l) (not (have-water ?u)))
    :effect (have-water ?u))

  (:action put-out-fire
    :parameters (?u - fire_unit ?from - location ?to - location)
    :precondition (and (fire-unit-at ?u ?from) (adjacent ?from ?to) (have-water ?u) (fire ?to))
    :effect (and (nfire ?to) (not (fire ?to)) (not (have-water ?u))))

  (:action load-victim
    :parameters (?u - medical_unit ?v - victim ?l - location)
    :precondition (and (medical-unit-at ?u ?l) (victim-at ?v ?l))
    :effect (and (have-victim-in-unit ?v ?u) (not (victim-at ?v ?l))))

  (:action unload-victim
    :parameters (?u - medical_unit ?v - victim ?l - location)
    :precondition (and (medical-unit-at ?u ?l) (have-victim-in-unit ?v ?u))
    :effect (and (victim-at ?v ?l) (not (have-victim-in-unit ?v ?u))))

  (:action treat-on-scene-by-medical-unit
    :parameters (?u - medical_unit ?v - victim ?l - location)
    :precondition (and (medical-unit-at ?u ?l) (victim-at ?v ?l) (victim-hurt ?v))
    :effect (and (not (victim-hurt ?v))
                 (probabilistic 0.9 (victim-healthy ?v) 0.1 (victim-dying ?v))))

  (:action treat-on-scene-by-fire-unit
    :parameters (?u - fire_unit ?v - victim ?l - location)
    :precondition (and (fire-unit-at ?u ?l) (victim-at ?v ?l) (victim-hurt ?v))
    :effect (and (not (victim-hurt ?v))
                 (probabilistic 0.7 (victim-healthy ?v) 0.3 (victim-dying ?v))))

  (:action treat-hurt-at-hospital
    :parameters (?v - victim ?l - location)
    :precondition (and (victim-at ?v ?l) (hospital ?l) (victim-hurt ?v))
    :effect (and (victim-healthy ?v) (not (victim-hurt ?v))))

  (:action treat-dying-at-hospital
    :parameters (?v - victim ?l - location)
    :precondition (and (victim-at ?v ?l) (hospital ?l) (victim-dying ?v))
    :effect (and (victim-healthy ?v) (not (victim-dying ?v)))))
