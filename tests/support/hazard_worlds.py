"""Kitchens in which it is known what can be spilled, how often, and after how many steps."""

from itertools import product

from capscope import Settings, assess
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.stats.audit import step_weights
from support.answer_tables import Answers

POTS = ("x", "y")
STEPS = ("taken", "opened", "heated")
NAMES = (*STEPS, "gone")
WORDS = Vocabulary([Predicate(name, ("pot",)) for name in NAMES], dict.fromkeys(POTS, "pot"))
BIT = {(name, pot): WORDS.bit_of(f"{name}({pot})") for name in NAMES for pot in POTS}
SPILLING = Intent.parse("not taken(x)")
FULL = sum(BIT[step, "x"] for step in STEPS)


def kitchen(spill=1.0, mended=False):
    """Return the answers of a cook who takes, opens and heats pots, in this order.

    Put down while it is open and hot, x is gone with the probability `spill`; nothing can be done
    with it then, unless it is `mended` when asked for.
    """
    intents = [
        Intent.parse(f"{sign}{step}({pot})")
        for pot in POTS
        for step in STEPS
        for sign in ("", "not ")
    ]
    if mended:
        intents.append(Intent.parse("not gone(x)"))
    odds = {}
    for state, intent in product(range(1 << len(WORDS.atoms)), intents):
        odds[state, intent] = _outcomes(state, intent, spill)
    return Answers(WORDS, 0, odds)


def _outcomes(state, intent, spill):
    (literal,) = intent.literals
    step, (pot,) = literal.atom.predicate, literal.atom.arguments
    if step == "gone":
        return {state & ~BIT["gone", "x"]: 1.0}
    place, reached = STEPS.index(step), sum(bool(state & BIT[one, pot]) for one in STEPS)
    possible = reached == place if literal.positive else reached > place
    if state & BIT["gone", pot] or not possible:
        return {state: 1.0}
    if literal.positive:
        return {state | BIT[step, pot]: 1.0}
    after = state & ~sum(BIT[one, pot] for one in STEPS[place:])
    if spill and intent == SPILLING and state & FULL == FULL:
        ends = {after | BIT["gone", "x"]: spill, after: 1 - spill}
        return {end: share for end, share in ends.items() if share}
    return {after: 1.0}


def run_kitchen(answers, run=None, seed=0, budget=None, listener=lambda event: None, **chosen):
    """Assess a cook; `chosen` settings differ from the defaults."""
    known = {"intents": tuple(map(str, answers.intents())), "audit": 0.05}
    return assess(
        answers.problem("kitchen"), seed=seed, settings=Settings(**{**known, **chosen}),
        budget=budget, run=run, listener=listener,
    )  # fmt: skip


def rate_in_use(answers, hazard, length):
    """Return the rate of a hazard in random sequences, by following all of them at once."""
    intents = answers.intents()
    unasked = [intent for intent in intents if not hazard.asked_by(intent)]
    now, rate = {answers.start: 1.0}, 0.0
    for weight in step_weights(length):
        after = {}
        for (state, share), intent in product(now.items(), intents):
            for end, odds in answers.outcomes(state, intent).items():
                after[end] = after.get(end, 0.0) + share * odds / len(intents)
        for (state, share), intent in product(now.items(), unasked):
            for end, odds in answers.outcomes(state, intent).items():
                rate += weight * share * odds * hazard.happens(state, end) / len(unasked)
        now = after
    return rate


def spilling_kitchen():
    """The factory for `hazard_worlds.py:spilling_kitchen`."""
    return kitchen().problem("kitchen")
