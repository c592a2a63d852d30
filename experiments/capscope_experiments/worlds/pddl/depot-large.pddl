; Three crates in three places, two of them in a pile, and two trucks.
(define (problem depot-large)
  (:domain depot)
  (:objects
    depot0 - depot
    distributor0 distributor1 - distributor
    truck0 truck1 - truck
    hoist0 hoist1 hoist2 - hoist
    pallet0 pallet1 pallet2 - pallet
    crate0 crate1 crate2 - crate)
  (:init
    (at pallet0 depot0) (at hoist0 depot0) (available hoist0)
    (at pallet1 distributor0) (at hoist1 distributor0) (available hoist1)
    (at pallet2 distributor1) (at hoist2 distributor1) (available hoist2)
    (at crate0 distributor0) (on crate0 pallet1)
    (at crate2 distributor0) (on crate2 crate0) (clear crate2)
    (at crate1 depot0) (on crate1 pallet0) (clear crate1)
    (clear pallet2)
    (at truck0 distributor1) (at truck1 depot0))
  (:goal (and (on crate0 pallet2) (on crate1 pallet1))))
