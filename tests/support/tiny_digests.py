"""Digests made by hand: one with a bit of everything, a hostile one, a big one."""

from dataclasses import replace
from types import SimpleNamespace

from capscope.insight.first_screen import FirstScreen
from capscope.insight.first_screen.families import Declined, FamilyRow, Span
from capscope.insight.first_screen.screen import NextStep, Warned
from capscope.logic import Intent
from capscope.report.digest.capabilities import ACHIEVED, NOTHING, OTHER, Standing
from capscope.report.digest.cards import Tone
from capscope.stats.rate import Rate


def by_attribute(value):
    """Return a digest with attributes for keys and tuples for lists, which are read easily."""
    if isinstance(value, dict):
        inside = {key: by_attribute(one) for key, one in value.items()}
        named = inside and all(isinstance(key, str) for key in inside)
        return SimpleNamespace(**inside) if named else inside
    return tuple(map(by_attribute, value)) if isinstance(value, list | tuple) else value


DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one point."""


def changed(value, **fields):
    """Return a part of a digest with some values replaced."""
    return value | fields


def draw(query=3, outcome=0, trajectory=(0, 1), transcript=""):
    return {
        "query": query,
        "draw": 1,
        "execution": 0,
        "outcome": outcome,
        "trajectory": trajectory,
        "ending": "agent stopped",
        "simulator_steps": 4,
        "llm_tokens": 12,
        "detail": "",
        "transcript": transcript,
    }


def outcome(mark, probability, *literals, side_effects=()):
    changes = [{"literal": text, "side_effect": False} for text in literals]
    changes += [{"literal": text, "side_effect": True} for text in side_effects]
    return {
        "mark": mark,
        "probability": probability,
        "low": max(0.0, probability - 0.1),
        "high": min(1.0, probability + 0.1),
        "count": round(40 * probability),
        "changes": changes,
    }


def rule(when, *outcomes, draws=(), held_already=False):
    return {
        "when": when,
        "conditions_omitted": 0,
        "states_count": 2,
        "draws_count": 40,
        "held_already": held_already,
        "outcomes": outcomes,
        "draws": draws,
    }


def capability(intent, standing, *rules, success=None, executions=40, side_effects=0):
    return {
        "intent": intent,
        "standing": standing,
        "standing_inferred": False,
        "executions": executions,
        "states_tried": 2 * len(rules),
        "states_untried": 1,
        "success": success,
        "success_low": success or 0.0,
        "gets_there": None,
        "after_reset": None,
        "side_effects": side_effects,
        "inferred": 0,
        "harm": None,
        "rules": rules,
        "rules_omitted": 0,
    }


def way(*nodes, arrows, from_beginning=True):
    """Return a way; nodes are numbers and literals, arrows intents and counts."""
    return {
        "nodes": [{"state": number, "literals": literals, "more": 0} for number, literals in nodes],
        "arrows": [{"intent": i, "count": count, "draws": draws} for i, count, draws in arrows],
        "from_beginning": from_beginning,
        "gap": 0,
        "omitted": 0,
    }


def cell(rate, states, seen, *rules):
    return {"rate": rate, "states": states, "seen": seen, "rules": rules}


def heat(columns, rows, repeated=False):
    """Return a heat map; rows are capabilities and their cells."""
    shown = [{"capability": number, "cells": cells} for number, *cells in rows]
    return {"columns": columns, "rows": shown, "rows_omitted": 0, "repeated": repeated}


def state(name, atoms, executions, picture=""):
    return {"name": name, "atoms": atoms, "executions": executions, "picture": picture}


def part(name, meaning, executions):
    return {"name": name, "meaning": meaning, "executions": executions}


def coverage(tried, seen, inferred, *ranges):
    return {
        "pairs_tried": tried,
        "pairs_seen": seen,
        "pairs_inferred": inferred,
        "draws_per_pair": ranges,
    }


def told(text):
    """What the page says of rules, with one text in each place."""
    words = {"capability": "", "when": text, "outcomes": (text, text), "support": text}
    said = {**words, "notes": (text,)}
    family = {"name": text, "members": 1, "executions": 1, "rules": (said, said)}
    behaviors = ({"name": text, **said},)
    shared = {"shared": (text,), "legend": "X is an object", "omitted": 1}
    return {"behaviors": behaviors, "families": (family,), **shared}


LIGHT = capability(
    "lit(lamp)",
    Standing.SOMETIMES,
    rule(
        (("at(switch)", "not broken(lamp)"),),
        outcome(ACHIEVED, 0.75, "lit(lamp)", side_effects=("warm(room)",)),
        outcome(OTHER, 0.25, side_effects=("broken(lamp)",)),
        draws=(draw(), draw(5, 1, (0, 2), "user: light\nassistant: I pressed the switch.")),
    ),
    rule((("not at(switch)",), ("broken(lamp)",)), outcome(NOTHING, 1.0), draws=(draw(),)),
    success=0.375,
    side_effects=1,
)
GO = capability(
    "at(switch)",
    Standing.RELIABLE,
    rule(
        (("not at(switch)",),),
        outcome(ACHIEVED, 1.0, "at(switch)"),
        draws=(draw(7, 0, (0, 1, 0)),),
    ),
    rule((("at(switch)",),), outcome(ACHIEVED, 1.0), held_already=True),
    success=1.0,
    executions=1200,
)
FLY = capability(
    "flying()", Standing.NEVER, rule(((),), outcome(NOTHING, 1.0)), success=0.0, executions=9
)
DIG = capability("dug(hole)", Standing.UNTRIED, executions=0)

CARD = {
    "kind": "side effect",
    "tone": Tone.HARM,
    "sentence": "It breaks the lamp.",
    "example": "For example 10 of 40.",
    "intents": ("lit(lamp)",),
    "rates": (("how often", Rate(0.25, 0.15, 0.38, 10, 40, 2)),),
    "way": way(
        (1, ("at(switch)", "lit(lamp)")),
        (0, ("not lit(lamp)",)),
        (2, ()),
        arrows=[("at(switch)", 9, 9), ("lit(lamp)", 10, 40)],
    ),
    "details": (),
}
LIT = Intent.parse("lit(lamp)")
SCREEN = FirstScreen(
    "lamp",
    "1,249 executions, 3 states, 4 capabilities; stopped: settled",
    (Warned(True, "asked for lit(x): also broken(x)", "10 of 40, never undone", "lit(lamp)"),),
    (),
    (
        FamilyRow(
            "lit(lamp)",
            (LIT,),
            1,
            Span(0.375, 0.375, 0.2, 40),
            Span(0.5, 0.5, 0.3, 40),
            None,
            "did nothing (25)",
            40,
            "warm(room) (3 of 40)",
        ),
    ),
    (Declined("flying()", (Intent.parse("flying()"),), 9, "did nothing (9)"),),
    "",
    "dug(hole)",
    ("audited: at most 1 % of executions surprise the model",),
    "1,249 executions",
    (NextStep("details", "capscope show DIR 'lit(lamp)'"), NextStep("page", "DIR/report.html")),
)
HEAT = heat(
    ("broken(lamp)", "not broken(lamp)"),
    [
        (1, cell(1.0, 2, 3, 0), cell(None, 0, 1), cell(1.0, 2, 2, 0)),
        (0, cell(0.375, 4, 4, 0, 1), cell(0.0, 2, 2, 1), cell(0.75, 2, 2, 0)),
        (3, cell(None, 0, 2), cell(None, 0, 0), cell(None, 0, 2)),
    ],
)

DIGEST = {
    "problem": "lamp",
    "phrases": (),
    "screen": SCREEN,
    "facts": (("strategy", "exhaustive"), ("seed", "0")),
    "always": ("there(lamp)",),
    "cards": (CARD,),
    "rules": told("lit(X)"),
    "findings_note": "One false alarm in 20 runs.",
    "marks_note": "",
    "single_steps": False,
    "capabilities": (LIGHT, GO, FLY, DIG),
    "heat": HEAT,
    "learning": ((1, 0.1, 1, 1, 1), (1249, 1.0, 8, 9, 3)),
    "audit": {"first": 900, "last": 1249, "passed": True, "scored": 300, "surprises": 0},
    "spending": (
        part("First tries", "Of pairs never tried before.", 8),
        part("Repeats", "They sharpen probabilities.", 1241),
    ),
    "coverage": coverage(8, 12, 3, ("0", 4), ("1", 1), ("2 or more", 7)),
    "states": {
        0: state("s0", ("at(switch)",), 700, DOT),
        1: state("s1", ("at(switch)", "lit(lamp)"), 500),
        2: state("s2", ("broken(lamp)",), 49),
    },
    "map": {
        "states": (0, 1, 2),
        "edges": ((0, 1, 0, 0.75, 30), (0, 2, 0, 0.25, 10), (2, 0, 1, 1.0, 9)),
        "omitted": 0,
    },
    "overview": {
        "atoms": ("broken(lamp)",),
        "groups": (((), 2, 1200, (0, 1), True), (("broken(lamp)",), 1, 49, (2,), False)),
        "edges": ((0, 1, 0, 0.25, 10), (1, 0, 1, 1.0, 9)),
    },
    "notes": (),
}

EVIL = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "<a href=javascript:window.pwned=1>\"'`{{7*7}}{% raw %}${7*7}<!--<script>&lt;\u2028"
)


def evil_screen(turned):
    row = replace(SCREEN.rows[0], **dict.fromkeys(("words", "otherwise", "also"), turned))
    texts = ("problem", "extent", "begun", "unknown", "cost")
    return replace(
        SCREEN,
        **dict.fromkeys(texts, turned),
        warnings=(Warned(True, turned, turned, turned),),
        rows=(row,),
        declined=(replace(SCREEN.declined[0], words=turned, how=turned),),
        sure=(turned,),
        next_steps=(NextStep(turned, turned),),
        nothing=(turned,),
    )


def hostile():
    """Return a digest in which every untrusted text tries to run a script."""
    turned = EVIL + "\u202egnp.exe\x1b[31m"
    evil_draw = draw() | {"ending": turned, "detail": turned, "transcript": f"{turned}\n\t{turned}"}
    evil_rule = rule(
        ((turned, "x" * 300),), outcome(ACHIEVED, 1.0, side_effects=[turned]), draws=(evil_draw,)
    )
    return DIGEST | {
        "problem": turned,
        "facts": ((turned, turned),),
        "always": (turned,),
        "phrases": ((turned, turned, turned), ("p", f"{turned} {{0}}", turned)),
        "screen": evil_screen(turned),
        "cards": (
            CARD
            | {
                **dict.fromkeys(("kind", "sentence", "example"), turned),
                "intents": (turned, "javascript:window.pwned=1", "p(x)"),
                "way": way(
                    (0, (turned,)),
                    (1, ("p(x)", turned)),
                    arrows=[(turned, 1, 1)],
                    from_beginning=False,
                ),
            },
        ),
        "heat": heat((turned, turned), [(0, *HEAT["rows"][1]["cells"])], repeated=True),
        "overview": {
            "atoms": (turned,),
            "groups": (((turned,), 1, 1, (0,), True), (("p(x)",), 2, 2, (1, 2), False)),
            "edges": ((0, 1, 0, 1.0, 1),),
        },
        "rules": told(turned),
        "findings_note": turned,
        "marks_note": turned,
        "capabilities": (
            capability(turned, Standing.SOMETIMES, evil_rule, success=0.5),
            capability("javascript:window.pwned=1", Standing.UNTRIED),
        ),
        "spending": (part(turned, turned, 3), part("a", "b", 1)),
        "coverage": coverage(1, 2, 0, (turned, 1), ("2", 1)),
        "states": {i: state(turned, (turned,), 1, turned) for i in range(3)},
        "map": {"states": (0, 1, 2), "edges": ((0, 1, 0, 1.0, 1),), "omitted": 0},
    }


def big(capabilities=100, rules=12, states=300):
    """Return a digest as large as that of the largest runs."""
    place = "at(robot,room-{})".format
    told = tuple(
        capability(
            place(number),
            Standing.SOMETIMES,
            *(
                rule(
                    ((place(other), f"not open(door-{other})"), (f"near(robot,room-{other})",)),
                    outcome(ACHIEVED, 0.5, place(number), side_effects=(f"dusty({other})",)),
                    outcome(NOTHING, 0.5),
                )
                for other in range(rules)
            ),
            success=number / capabilities,
        )
        for number in range(capabilities)
    )
    edges = tuple(
        (source, (source * 7 + step) % states, step, 0.5 + step / 20, 5)
        for source in range(states)
        for step in range(min(10, capabilities))
    )
    return DIGEST | {
        "capabilities": told,
        "cards": (),
        "heat": HEAT | {"rows": ()},
        "overview": {"atoms": (), "groups": (), "edges": ()},
        "states": {i: state(f"s{i}", (place(i),), i + 1) for i in range(states)},
        "map": {"states": tuple(range(states)), "edges": edges, "omitted": 0},
    }
