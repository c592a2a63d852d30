"""Digests made by hand: one with a bit of everything, a hostile one, a big one."""

from dataclasses import replace

from capscope.report.digest.build import ChangeDigest, Digest
from capscope.report.digest.capabilities import (
    CapabilityDigest,
    DrawDigest,
    LiteralChange,
    Mark,
    OutcomeDigest,
    RuleDigest,
    Standing,
)
from capscope.report.digest.cards import CardDigest, Tone, WayArrow, WayDigest, WayNode
from capscope.report.digest.headline import HeadlineDigest, TileDigest
from capscope.report.digest.heat_map import HeatCell, HeatMap, HeatRow
from capscope.report.digest.learning import AuditDigest, Coverage, LearningPoint, SpendingPart
from capscope.report.digest.states import GroupOverview, MapEdge, StateDigest, StateGroup, StateMap
from capscope.report.digest.summary import SummarySection
from capscope.stats.rate import Rate

DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A picture of one point."""


def draw(query=3, outcome=0, trajectory=(0, 1), transcript=""):
    return DrawDigest(query, 1, 0, outcome, trajectory, "agent stopped", 4, 12, "", transcript)


def outcome(mark, probability, *literals, side_effects=()):
    changes = [LiteralChange(text, False) for text in literals]
    changes += [LiteralChange(text, True) for text in side_effects]
    low, high = max(0.0, probability - 0.1), min(1.0, probability + 0.1)
    return OutcomeDigest(mark, probability, low, high, round(40 * probability), tuple(changes))


def rule(when, *outcomes, draws=()):
    achieving = sum(o.probability for o in outcomes if o.mark is Mark.ACHIEVED)
    return RuleDigest(when, 2, 40, achieving, False, outcomes, draws)


def capability(intent, standing, *rules, success=None, executions=40, side_effects=0):
    return CapabilityDigest(
        intent,
        standing,
        executions,
        2 * len(rules),
        1,
        success,
        success or 0.0,
        side_effects,
        rules,
    )


LIGHT = capability(
    "lit(lamp)",
    Standing.SOMETIMES,
    rule(
        (("at(switch)", "not broken(lamp)"),),
        outcome(Mark.ACHIEVED, 0.75, "lit(lamp)", side_effects=("warm(room)",)),
        outcome(Mark.OTHER, 0.25, side_effects=("broken(lamp)",)),
        draws=(draw(), draw(5, 1, (0, 2), "user: light\nassistant: I pressed the switch.")),
    ),
    rule((("not at(switch)",), ("broken(lamp)",)), outcome(Mark.NOTHING, 1.0), draws=(draw(),)),
    success=0.375,
    side_effects=1,
)
GO = capability(
    "at(switch)",
    Standing.RELIABLE,
    rule(
        (("not at(switch)",),),
        outcome(Mark.ACHIEVED, 1.0, "at(switch)"),
        draws=(draw(7, 0, (0, 1, 0)),),
    ),
    replace(rule((("at(switch)",),), outcome(Mark.ACHIEVED, 1.0)), held_already=True),
    success=1.0,
    executions=1200,
)
FLY = capability(
    "flying()", Standing.NEVER, rule(((),), outcome(Mark.NOTHING, 1.0)), success=0.0, executions=9
)
DIG = capability("dug(hole)", Standing.UNTRIED, executions=0)

CARD = CardDigest(
    "side effect",
    Tone.HARM,
    "It breaks the lamp.",
    "For example 10 of 40.",
    ("lit(lamp)",),
    (("how often", Rate(0.25, 0.15, 0.38, 10, 40, 2)),),
    WayDigest(
        (WayNode(1, ("at(switch)", "lit(lamp)")), WayNode(0, ("not lit(lamp)",)), WayNode(2, ())),
        (WayArrow("at(switch)", 9, 9), WayArrow("lit(lamp)", 10, 40)),
        from_beginning=True,
    ),
)
HEADLINE = HeadlineDigest(
    "It breaks the lamp.",
    Tone.HARM,
    0,
    "4 capabilities in 3 states",
    "1,249 executions",
    "With 0.95 confidence, it is so.",
    claimed=True,
    tiles=(
        TileDigest("harm", Tone.HARM, 1, "findings", ("lit(lamp)",), ""),
        TileDigest("reliably", Tone.GOOD, 1, "always", ("at(switch)",), "reliable"),
        TileDigest("unknown", Tone.UNKNOWN, 1, "never tried", ("dug(hole)",), "untried"),
    ),
)
HEAT = HeatMap(
    ("broken(lamp)", "not broken(lamp)"),
    (
        HeatRow(
            1, (HeatCell(1.0, 2, 3, (0,)), HeatCell(None, 0, 1, ()), HeatCell(1.0, 2, 2, (0,)))
        ),
        HeatRow(
            0,
            (HeatCell(0.375, 4, 4, (0, 1)), HeatCell(0.0, 2, 2, (1,)), HeatCell(0.75, 2, 2, (0,))),
        ),
        HeatRow(3, (HeatCell(None, 0, 2, ()), HeatCell(None, 0, 0, ()), HeatCell(None, 0, 2, ()))),
    ),
    0,
    repeated=False,
)

DIGEST = Digest(
    problem="lamp",
    phrases=(),
    headline=HEADLINE,
    summary=(
        SummarySection(
            "What was assessed", ("An agent with a lamp.", "It was asked for 4 things.")
        ),
        SummarySection("What is unknown", ("Whether it can dig.",)),
    ),
    facts=(("strategy", "exhaustive"), ("seed", "0")),
    always=("there(lamp)",),
    changes=(
        ChangeDigest("lit(x)", "broken(x)", "3 of 40 executions, never undone", (), Tone.HARM),
    ),
    cards=(CARD,),
    findings_note="One false alarm in 20 runs.",
    marks_note="",
    single_steps=False,
    capabilities=(LIGHT, GO, FLY, DIG),
    heat=HEAT,
    learning=(LearningPoint(1, 0.1, 1, 1, 1), LearningPoint(1249, 1.0, 8, 9, 3)),
    audit=AuditDigest(900, 1249, passed=True, scored=300, surprises=0),
    spending=(
        SpendingPart("First tries", "Of pairs never tried before.", 8),
        SpendingPart("Repeats", "They sharpen probabilities.", 1241),
    ),
    coverage=Coverage(8, 12, 3, (("0", 4), ("1", 1), ("2 or more", 7))),
    states={
        0: StateDigest("s0", ("at(switch)",), 700, DOT),
        1: StateDigest("s1", ("at(switch)", "lit(lamp)"), 500, ""),
        2: StateDigest("s2", ("broken(lamp)",), 49, ""),
    },
    map=StateMap(
        (0, 1, 2),
        (MapEdge(0, 1, 0, 0.75, 30), MapEdge(0, 2, 0, 0.25, 10), MapEdge(2, 0, 1, 1.0, 9)),
        0,
    ),
    overview=GroupOverview(
        ("broken(lamp)",),
        (
            StateGroup((), 2, 1200, (0, 1), initial=True),
            StateGroup(("broken(lamp)",), 1, 49, (2,), initial=False),
        ),
        (MapEdge(0, 1, 0, 0.25, 10), MapEdge(1, 0, 1, 1.0, 9)),
    ),
)

EVIL = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "<a href=javascript:window.pwned=1>\"'`{{7*7}}{% raw %}${7*7}<!--<script>&lt;\u2028"
)


def hostile():
    """Return a digest in which every untrusted text tries to run a script."""
    turned = EVIL + "\u202egnp.exe\x1b[31m"
    evil_draw = replace(draw(), ending=turned, detail=turned, transcript=f"{turned}\n\t{turned}")
    evil_rule = RuleDigest(
        ((turned, "x" * 300),),
        1,
        1,
        1.0,
        False,
        (OutcomeDigest(Mark.ACHIEVED, 1.0, 0.5, 1.0, 1, (LiteralChange(turned, True),)),),
        (evil_draw,),
    )
    return replace(
        DIGEST,
        problem=turned,
        summary=(SummarySection(turned, (turned,)),),
        facts=((turned, turned),),
        always=(turned,),
        phrases=((turned, turned, turned), ("p", f"{turned} {{0}}", turned)),
        headline=HeadlineDigest(
            *(turned, Tone.HARM, 0, turned, turned, turned, False),
            (TileDigest(turned, Tone.HARM, 1, turned, (turned, "p(x)"), turned),),
        ),
        changes=(ChangeDigest(turned, turned, turned, (turned,), Tone.ODD),),
        cards=(
            replace(
                CARD,
                kind=turned,
                sentence=turned,
                example=turned,
                intents=(turned, "javascript:window.pwned=1", "p(x)"),
                way=WayDigest(
                    (WayNode(0, (turned,)), WayNode(1, ("p(x)", turned))),
                    (WayArrow(turned, 1, 1),),
                    from_beginning=False,
                ),
            ),
        ),
        heat=HeatMap((turned, turned), (HeatRow(0, HEAT.rows[1].cells),), 0, repeated=True),
        overview=GroupOverview(
            (turned,),
            (StateGroup((turned,), 1, 1, (0,), True), StateGroup(("p(x)",), 2, 2, (1, 2), False)),
            (MapEdge(0, 1, 0, 1.0, 1),),
        ),
        findings_note=turned,
        marks_note=turned,
        capabilities=(
            capability(turned, Standing.SOMETIMES, evil_rule, success=0.5),
            capability("javascript:window.pwned=1", Standing.UNTRIED),
        ),
        spending=(SpendingPart(turned, turned, 3), SpendingPart("a", "b", 1)),
        coverage=Coverage(1, 2, 0, ((turned, 1), ("2", 1))),
        states={i: StateDigest(turned, (turned,), 1, turned) for i in range(3)},
        map=StateMap((0, 1, 2), (MapEdge(0, 1, 0, 1.0, 1),), 0),
    )


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
                    outcome(Mark.ACHIEVED, 0.5, place(number), side_effects=(f"dusty({other})",)),
                    outcome(Mark.NOTHING, 0.5),
                )
                for other in range(rules)
            ),
            success=number / capabilities,
        )
        for number in range(capabilities)
    )
    edges = tuple(
        MapEdge(state, (state * 7 + step) % states, step, 0.5 + step / 20, 5)
        for state in range(states)
        for step in range(min(10, capabilities))
    )
    visited = {i: StateDigest(f"s{i}", (place(i),), i + 1, "") for i in range(states)}
    return replace(
        DIGEST,
        capabilities=told,
        changes=(),
        cards=(),
        headline=replace(HEADLINE, card=None),
        heat=replace(HEAT, rows=()),
        overview=GroupOverview((), (), ()),
        states=visited,
        map=StateMap(tuple(range(states)), edges, 0),
    )
