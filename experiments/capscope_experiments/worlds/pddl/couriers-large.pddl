; Six places and five parcels; the only way to the island is muddy.
(define (problem couriers-large)
  (:domain couriers)
  (:objects
    depot farm mill quarry harbour island - place
    book lamp chair rope clock - parcel)
  (:init (van-at depot)
    (parcel-at book depot) (parcel-at lamp mill) (parcel-at chair farm)
    (parcel-at rope harbour) (parcel-at clock quarry)
    (road depot farm) (road farm depot) (road farm mill) (road mill farm) (road mill depot)
    (road mill harbour) (road harbour mill)
    (mud depot quarry) (mud quarry mill) (mud quarry depot)
    (mud harbour island) (mud island harbour))
  (:goal (parcel-at book island)))
