"""Tiny simulators and agents for the tests: correct ones, and one for each way to break a contract.

A board of three switches. Pressing a switch toggles it, except that with probability `slip` nothing
happens. In the correct board the last reset or restore seeds all randomness.
"""

import json
import random
import time

from capscope.logic import Atom, Predicate, Vocabulary
from capscope.problem import InvalidAction, Limits, Problem

SWITCHES = ("a", "b", "c")
WORDS = Vocabulary([Predicate("lit", ("switch",))], dict.fromkeys(SWITCHES, "switch"))


class Board:
    """The correct simulator; an action is the name of a switch, or "wait"."""

    def __init__(self, slip=0.0, ends_at=None):
        self.slip = slip
        self.ends_at = ends_at
        self.lit = 0
        self.rng = random.Random(0)

    def reset(self, seed):
        self.rng.seed(seed)
        self.lit = 0
        return self.lit

    def actions(self):
        return () if self.lit == self.ends_at else (*SWITCHES, "wait")

    def step(self, action):
        if action not in self.actions():
            raise InvalidAction(f"there is no switch {action}")
        if action != "wait" and self.rng.random() >= self.slip:
            self.lit ^= 1 << SWITCHES.index(action)
        return self.lit

    def snapshot(self):
        return bytes([self.lit])

    def restore(self, snapshot, seed):
        self.rng.seed(seed)
        self.lit = snapshot[0]
        return self.lit


class BoardThatStaysWhereItIs(Board):
    """Defect: restore does not restore."""

    def restore(self, snapshot, seed):
        self.rng.seed(seed)
        return self.lit


class BoardSeenByACamera(Board):
    """No defect: what is observed is noisy, and the position is not."""

    def reset(self, seed):
        return super().reset(seed), self.rng.random()

    def step(self, action):
        return super().step(action), self.rng.random()

    def restore(self, snapshot, seed):
        return super().restore(snapshot, seed), self.rng.random()


class CameraThatRepeatsItself(BoardSeenByACamera):
    """Defect: what follows a restore does not depend on its seed."""

    def restore(self, snapshot, seed):
        return super().restore(snapshot, 0)


class BoardThatForgetsASwitch(Board):
    """Defect: one switch is not in the snapshot."""

    def snapshot(self):
        return bytes([self.lit & 0b011])


class BoardWithATextSnapshot(Board):
    """Defect: a snapshot is not bytes."""

    def snapshot(self):
        return str(self.lit)

    def restore(self, snapshot, seed):
        return super().restore(bytes([int(snapshot)]), seed)


class BoardThatRestoresItsGenerator(Board):
    """Defect: the snapshot carries the generator, so every draw is a copy."""

    def snapshot(self):
        return json.dumps([self.lit, self.rng.getstate()]).encode()

    def restore(self, snapshot, seed):
        self.lit, (version, inner, gauss) = json.loads(snapshot)
        self.rng.setstate((version, tuple(inner), gauss))
        return self.lit


class BoardThatIgnoresTheSeed(Board):
    """Defect: restore seeds with a constant."""

    def restore(self, snapshot, seed):
        return super().restore(snapshot, 0)


class BoardThatLetsItsGeneratorRun(Board):
    """Defect: restore leaves the generator where it is."""

    def restore(self, snapshot, seed):
        self.lit = snapshot[0]
        return self.lit


class BoardWithHiddenChance(Board):
    """Defect: draws from a generator that no seed reaches."""

    def __init__(self, slip=0.5):
        super().__init__(slip)
        self.rng = Unseedable(1)


class Unseedable(random.Random):
    def seed(self, *seed):
        if not hasattr(self, "seeded"):
            self.seeded = True
            super().seed(*seed)


class BoardWithUnseededResets(Board):
    """Defect: reset leaves the generator where it is."""

    def reset(self, seed):
        self.lit = 0
        return self.lit


class BoardWithAHiddenDial(Board):
    """Defect: a value that matters later is neither observed nor restored."""

    dial = 0

    def step(self, action):
        self.dial += 1
        return super().step(action if self.dial % 3 else "wait")


class BoardWithHandles(Board):
    """Defect: a snapshot refers to this process's memory."""

    def __init__(self, slip=0.0):
        super().__init__(slip)
        self.saved = []

    def snapshot(self):
        self.saved.append(self.lit)
        return b"%d" % (len(self.saved) - 1)

    def restore(self, snapshot, seed):
        return super().restore(bytes([self.saved[int(snapshot)]]), seed)


class BoardLaidOutAnew(Board):
    """Correct: each reset rewires the board; the wiring is observed, but no atom describes it."""

    def reset(self, seed):
        self.wiring = random.Random(seed).sample(range(3), 3)
        self.lit = 0
        return self._seen()

    def step(self, action):
        if action != "wait":
            self.lit ^= 1 << self.wiring[SWITCHES.index(action)]
        return self._seen()

    def snapshot(self):
        return bytes([self.lit, *self.wiring])

    def restore(self, snapshot, seed):
        self.lit, *self.wiring = snapshot
        return self._seen()

    def _seen(self):
        return self.lit, tuple(self.wiring)


class BrokenBoard(Board):
    """Raises in the given method."""

    def __init__(self, broken="step"):
        super().__init__()
        self.broken = broken

    def step(self, action):
        if self.broken == "step":
            raise ZeroDivisionError("gears jammed")
        return super().step(action)

    def actions(self):
        if self.broken == "actions":
            raise ZeroDivisionError("gears jammed")
        return super().actions()


class Seen:
    """The correct abstraction: the lit switches, as bits."""

    vocabulary = WORDS

    def __call__(self, observation):
        return observation[0] if isinstance(observation, tuple) else observation


class SeenWithAStranger(Seen):
    """Defect: a bit beyond the vocabulary."""

    def __call__(self, observation):
        return observation | 0b1000


class SeenAsASet(Seen):
    """Defect: a state that is not an int."""

    def __call__(self, observation):
        return frozenset({observation})


class SeenWithAnUndeclaredAtom(Seen):
    """Defect: an atom the vocabulary does not have."""

    def __call__(self, observation):
        return WORDS.state([Atom("lit", ("z",))])


class BrokenSight(Seen):
    def __call__(self, observation):
        if observation:
            raise LookupError("dark glasses")
        return observation


class Presser:
    """The correct agent: presses the switches of the intent until it holds, then stops."""

    def begin(self, intent, seed):
        return Pressing(intent)


class Pressing:
    def __init__(self, intent):
        self.intent = intent

    def act(self, observation):
        lit = Seen()(observation)
        for literal in self.intent.literals:
            if bool(lit & WORDS.bit_of(literal.atom)) != literal.positive:
                return literal.atom.arguments[0]
        return None


class Scripted:
    """Follows a script; an exception in the script is raised, and the end is a stop."""

    def __init__(self, *script, forever=None, tokens=None):
        self.script = script
        self.forever = forever
        self.tokens = tokens

    def begin(self, intent, seed):
        return Reading(self)


class Reading:
    def __init__(self, agent):
        self.left = list(agent.script)
        self.forever = agent.forever
        if agent.tokens is not None:
            self.llm_tokens = agent.tokens

    def act(self, observation):
        action = self.left.pop(0) if self.left else self.forever
        if isinstance(action, Exception):
            raise action
        return action


class Diarist(Presser):
    """Presses correctly and writes a transcript."""

    def __init__(self, *lines):
        self.lines = lines

    def begin(self, intent, seed):
        attempting = Pressing(intent)
        attempting.transcript = "\n".join([*self.lines, f"wanted: {intent}", f"seed: {seed}"])
        return attempting


class RaisesAtOnce:
    def begin(self, intent, seed):
        raise RuntimeError("no idea")


RAISES_HERE = f"toy_worlds.py, line {RaisesAtOnce.begin.__code__.co_firstlineno + 1}"


class Remembering(Presser):
    """Defect: stops at each intent that it was asked for before."""

    def __init__(self):
        self.asked = set()

    def begin(self, intent, seed):
        known = intent in self.asked
        self.asked.add(intent)
        return Reading(Scripted()) if known else Pressing(intent)


class Moody(Presser):
    """Defect: its randomness does not come from the seed."""

    def __init__(self):
        self.rng = random.Random(3)

    def begin(self, intent, seed):
        return Pressing(intent) if self.rng.random() < 0.5 else Reading(Scripted())


def board_problem(simulator=None, agent=None, abstraction=None, **limits):
    """Make a problem, by default of the correct parts."""
    return Problem(
        "board",
        simulator or Board(),
        agent or Presser(),
        abstraction or Seen(),
        limits=Limits(**limits),
    )


class SlowBoard(Board):
    """Leaves little to report of a run of seconds, so that a busy machine has the time for it."""

    def step(self, action):
        time.sleep(0.002)
        return super().step(action)


def slow_board():
    """The factory for `toy_worlds.py:slow_board`."""
    return board_problem(SlowBoard(slip=0.3))


def slippery_board():
    """The factory for `toy_worlds.py:slippery_board`."""
    return board_problem(Board(slip=0.3))


def board_with_a_diary():
    """The factory of a problem whose transcripts contain control characters."""
    lines = [f"line {number} of what is always the same" for number in range(20)]
    return board_problem(Board(slip=0.3), Diarist(*lines, "\x1b[2J\x1b]0;mine\x07 \u202eloof"))


def board_with_handles():
    """The factory of a problem whose snapshots cannot be used in another process."""
    return board_problem(BoardWithHandles())
