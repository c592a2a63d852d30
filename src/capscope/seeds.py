"""Seeds that come from a place in the run, never from the order in which things happen.

Handing one generator from hand to hand makes every draw depend on all draws before it, so a
resumed run or a second worker changes the results. Here a seed is a hash of where it is used:
`child_seed(run_seed, query, draw)` is the same number whoever asks, and whenever.
"""

_MASK = (1 << 64) - 1


def child_seed(seed: int, *place: int) -> int:
    """Derive a 64-bit seed from a parent seed and a place below it.

    >>> child_seed(0, 3, 7) == child_seed(0, 3, 7)
    True
    >>> child_seed(0, 3, 7) == child_seed(0, 7, 3)
    False
    """
    # SplitMix64, one round for each coordinate.
    mixed = seed & _MASK
    for coordinate in place:
        mixed = (mixed + 0x9E3779B97F4A7C15 + (coordinate & _MASK)) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        mixed ^= mixed >> 31
    return mixed
