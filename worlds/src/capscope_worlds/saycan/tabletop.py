"""What intents mean at the table: an instruction in words, and the skills that serve it.

`TabletopScript` takes the place of a language model. Like one, it knows the instruction and what
was done, and nothing of the table: asked to clear a block, it cannot say which block stands on it,
finds every other block equally worth moving, and leaves the choice to the robot's eyes. One skill
for each literal is enough for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from capscope.logic import Intent, Literal
from capscope_worlds.saycan.agent import DONE
from capscope_worlds.saycan.language import SkillExample, SkillGuide, SkillQuestion

BLOCKS = ("red", "blue", "green", "yellow")
CUP, TABLE = "cup", "table"
TARGETS = (*BLOCKS, CUP, TABLE)
USEFUL, USELESS = 0.95, 0.03
"""Shares of the skills that serve the instruction and of those that do not; the rest is `DONE`."""
_INSTRUCTIONS = {
    ("on", True): "Put {0} {on_1}.",
    ("on", False): "Take {0} off {1}.",
    ("on-table", True): "Put {0} on the table.",
    ("on-table", False): "Take {0} off the table.",
    ("clear", True): "Make sure that nothing is {on_0}.",
    ("clear", False): "Put something {on_0}.",
    ("gone", True): "Throw {0} off the table.",
    ("gone", False): "Put {0} back on the table.",
}


def _named(thing: str) -> str:
    return f"the {thing} block" if thing in BLOCKS else f"the {thing}"


def _on(target: str) -> str:
    return f"{'in' if target == CUP else 'on'} {_named(target)}"


def skill_text(block: str, target: str) -> str:
    """Describe a skill.

    >>> skill_text("red", "blue")
    'put the red block on the blue block'
    """
    return f"put {_named(block)} {_on(target)}"


SKILL_TEXTS = tuple(
    skill_text(block, target) for block in BLOCKS for target in TARGETS if target != block
)


def instruction(intent: Intent) -> str:
    """Say an intent as an instruction.

    >>> instruction(Intent.parse("on(green,yellow)"))
    'Put the green block on the yellow block.'
    """
    said = (" ".join(map(_instruction, literals)) for literals in intent.alternatives)
    return " Or: ".join(said)


def _instruction(literal: Literal) -> str:
    atom = literal.atom
    sentence = _INSTRUCTIONS.get((atom.predicate, literal.positive))
    if sentence is None:
        return f"Make this {'true' if literal.positive else 'false'}: {atom}."
    places = {f"on_{i}": _on(name) for i, name in enumerate(atom.arguments)}
    return sentence.format(*map(_named, atom.arguments), **places)


_INTRODUCTION = (
    f"You control a robot arm. Answer each question with one word: {', '.join(TARGETS)} or {DONE}."
)
_FIRST, _NEXT, _WHERE = (
    "Which block is moved first?",
    "Which block is moved next?",
    "Where is it put?",
)


def _where(block: str) -> SkillQuestion:
    targets = (target for target in TARGETS if target != block)
    return SkillQuestion(_WHERE, {target: skill_text(block, target) for target in targets})


TABLETOP_GUIDE = SkillGuide(
    introduction=_INTRODUCTION,
    first=_FIRST,
    question=SkillQuestion(_NEXT, {**{block: _where(block) for block in BLOCKS}, DONE: DONE}),
    examples=(
        SkillExample("Put the blue block on the red block.", (skill_text("blue", "red"),)),
        SkillExample("Put the yellow block in the cup.", (skill_text("yellow", CUP),)),
        SkillExample("Put the green block on the table.", (skill_text("green", TABLE),)),
        SkillExample("Put the red block on the green block.", (skill_text("red", "green"),)),
    ),
    instruction=instruction,
    wording=repr(_INSTRUCTIONS),
)
"""How a language model is asked about the skills at the table."""


def serving(literal: Literal) -> tuple[str, ...]:
    """Return the skills that serve a literal, as far as one can tell without seeing the table."""
    name, arguments = literal.atom.predicate, literal.atom.arguments
    first = arguments[0] if arguments else ""
    if name == "on" and literal.positive:
        return _texts({(first, arguments[1])})
    if (name == "on-table" and literal.positive) or name == "on":
        return _texts({(first, TABLE)})
    if name == "on-table":
        return _texts({(first, target) for target in TARGETS if target != TABLE})
    if name == "clear" and literal.positive:
        return _texts({(block, TABLE) for block in BLOCKS if block != first})
    if name == "clear":
        return _texts({(block, first) for block in BLOCKS})
    return ()  # no skill throws a block off the table, or brings one back


def _texts(skills: set[tuple[str, str]]) -> tuple[str, ...]:
    texts = {skill_text(*skill) for skill in skills if skill[0] != skill[1]}
    return tuple(text for text in SKILL_TEXTS if text in texts)


class TabletopScript:
    """A chooser that needs no language model."""

    @property
    def fingerprint(self) -> str:
        """Identifies the script."""
        parts = repr((SKILL_TEXTS, USEFUL, USELESS))
        return f"script-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"

    def begin(self, intent: Intent, seed: int) -> TabletopScriptScoring:
        """Start an attempt at an intent."""
        return TabletopScriptScoring(intent)


class TabletopScriptScoring:
    """Scores the skills for one intent."""

    def __init__(self, intent: Intent) -> None:
        pursued = intent.pursuable(lambda literal: bool(serving(literal)))
        self._served = [serving(literal) for literal in pursued]

    def scores(self, done: Sequence[str], affordances: Mapping[str, float]) -> Mapping[str, float]:
        """Share out most of the score among the skills that serve the first open literal."""
        opened = (skills for skills in self._served if not set(skills) & set(done))
        useful = next(filter(None, opened), ())
        scores = dict.fromkeys(SKILL_TEXTS, USELESS / len(SKILL_TEXTS))
        scores |= dict.fromkeys(useful, USEFUL / len(useful) if useful else 0.0)
        scores[DONE] = 1 - sum(scores.values())
        return scores
