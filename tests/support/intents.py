"""What an agent that always succeeds, and changes nothing else, would do."""


def achieved_from(intent, state, vocabulary):
    """Return the nearest state in which the intent holds: only its literals change."""
    required, forbidden = vocabulary.test(intent.literals)
    return (state & ~forbidden) | required
