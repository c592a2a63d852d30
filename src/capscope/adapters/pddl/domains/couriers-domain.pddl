; A van takes parcels along muddy roads: it may get stuck, and a parcel may slip when loaded.
(define (domain couriers)
  (:requirements :strips :typing :negative-preconditions :probabilistic-effects)
  (:types place parcel)
  (:predicates
    (van-at ?place - place)
    (parcel-at ?parcel - parcel ?place - place)
    (loaded ?parcel - parcel)
    (stuck)
    (road ?from - place ?to - place)
    (mud ?from - place ?to - place))

  (:action drive
    :parameters (?from - place ?to - place)
    :precondition (and (van-at ?from) (road ?from ?to) (not (stuck)))
    :effect (and (van-at ?to) (not (van-at ?from))))

  (:action drive-through-mud
    :parameters (?from - place ?to - place)
    :precondition (and (van-at ?from) (mud ?from ?to) (not (stuck)))
    :effect (and (van-at ?to) (not (van-at ?from)) (probabilistic 0.3 (stuck))))

  (:action dig-out
    :parameters ()
    :precondition (stuck)
    :effect (probabilistic 0.6 (not (stuck))))

  (:action load
    :parameters (?parcel - parcel ?place - place)
    :precondition (and (van-at ?place) (parcel-at ?parcel ?place))
    :effect (probabilistic 0.85 (and (loaded ?parcel) (not (parcel-at ?parcel ?place)))))

  (:action unload
    :parameters (?parcel - parcel ?place - place)
    :precondition (and (van-at ?place) (loaded ?parcel))
    :effect (and (parcel-at ?parcel ?place) (not (loaded ?parcel)))))
