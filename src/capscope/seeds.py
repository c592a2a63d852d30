"""Seeds that come from a place in the run, never from the order in which things happen.

Handing one generator from hand to hand makes every draw depend on all draws before it, so a
resumed run or a second worker changes the results. Here a seed is a hash of where it is used:
`child_seed(run_seed, query, draw)` is the same number whenever it is asked for.
"""

_MASK = (1 << 64) - 1


def child_seed(seed: int, *place: int) -> int:
    """Derive a seed from a parent seed and a place below it.

    Args:
        seed: The parent seed.
        place: Numbers that identify the place, such as query and draw.

    Returns:
        A seed of 64 bits.

    >>> child_seed(0, 3, 7) == child_seed(0, 3, 7)
    True
    >>> child_seed(0, 3, 7) == child_seed(0, 7, 3)
    False
    """
    mixed = _mix(seed)
    for coordinate in place:
        # States are coordinates too and may be wider than 64 bits: fold, do not cut.
        while coordinate > _MASK:
            mixed = _mix(mixed + coordinate)
            coordinate >>= 64
        mixed = _mix(mixed + coordinate)
    return mixed


def _mix(number: int) -> int:
    # One round of SplitMix64. The parent is mixed before anything is added to it: otherwise place
    # 1 below seed 0 would be place 0 below seed 1.
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)
