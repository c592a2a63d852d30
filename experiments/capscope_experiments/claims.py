"""Every claim of the paper's experiments, with the paper's number, ours, and a verdict.

All numbers on our side are read from the result files, and each verdict follows from them by the
rule of its claim, so both change when rows change. The paper's printed numbers are typed here,
once. Agreement is with the paper's filter wherever the paper reports one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from capscope_experiments.claim_rules import (
    BonusEffect,
    Changes,
    FewerSteps,
    Judged,
    MoreAgreement,
    NotTestable,
    QaceOutcome,
    Quirk,
    Reaches,
    RunTime,
    Verdict,
    beats_baselines,
    beats_one_draw,
    learned_without_bonus,
    steps_to_level,
    steps_to_stop,
)
from capscope_experiments.measured_numbers import Measured
from capscope_experiments.result_sentences import results_in_words
from capscope_experiments.table import markdown_table

__all__ = ["CLAIMS", "Claim", "Verdict", "claims_table", "results_in_words"]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the rule that judges it."""

    part: str
    text: str
    paper: str
    judge: Callable[[Measured], Judged]


def claims_table(folder: Path) -> str:
    """Return a Markdown table of the paper's claims, judged by the CSV files in a folder."""
    measured = Measured(folder)
    heads = ["", "claim", "paper", "ours, `--paper`", "ours, defaults", "verdict", "why"]
    return markdown_table(heads, (_row(claim, measured) for claim in CLAIMS))


def _row(claim: Claim, measured: Measured) -> list[str]:
    found = claim.judge(measured)
    ours = [found.literal, found.default, f"**{found.verdict}**", found.why.strip()]
    return [claim.part, claim.text, claim.paper, *ours]


_GRID = "A policy learned by Q-learning stands in for GPT-5.4-nano, in the paper's grid."
_CRAFTER = "A policy learned by imitation stands in for CSteve, whose weights are not available."
_KITCHEN = "An agent trained here stands in for HDDLGym's."
_NO_GPT = "A property of GPT-5.4, which is not available here; another model has other failings."
_SAYCAN = (
    "Fig. 1b says 0.6, the text 6 %, without states or counts, so no number can be tested. Our "
    "table has the cause by construction (a gripper that closes at one height, and a detector that "
    "confuses colors), but another language model and physics engine: its rates are its own."
)
_QACE_TOO = "The page on QACE says why; by default, disjuncts are split further."


_BOTH = ("mcqs-s", "mcqs-e")


def _mostly_fewer(changes: Changes) -> bool:
    return sum(change < 0 for change in changes.values()) > len(changes) / 2


def _all_more(changes: Changes) -> bool:
    return all(0 < change <= 0.8 for change in changes.values())


def _within_range(changes: Changes) -> bool:
    return all(-0.2 <= change <= 3.0 for change in changes.values())


def _largest(changes: Changes) -> list[float]:
    """Return the largest change of MCQS-S and of MCQS-E."""
    return [
        max((abs(change) for name, change in changes.items() if name.endswith(strategy)), default=0)
        for strategy in _BOTH
    ]


def _sampled_more_sensitive(changes: Changes) -> bool:
    sampled, enumerated = _largest(changes)
    return sampled > enumerated


_EFFICIENCY = (
    Claim(
        "E1",
        "MiniGrid: MCQS-S reaches 91 % agreement with fewer simulator steps than Random Query",
        "18.6×",
        FewerSteps("minigrid-q", "mcqs-s", 0.91, 18.6, note=_GRID, substitute=True),
    ),
    Claim(
        "E1",
        "First Responders: MCQS-S reaches over 99 % with fewer steps",
        "18.1×",
        FewerSteps(
            "first-responders",
            "mcqs-s",
            0.99,
            18.1,
            note="Whether the visits of draws count is a reading, one of about a dozen that were "
            "tried: part of the closeness is selection.",
        ),
    ),
    Claim(
        "E1",
        "Crafter: MCQS-E reaches 50 % with fewer steps",
        "10.5×",
        FewerSteps("crafter-steve", "mcqs-e", 0.5, 10.5, note=_CRAFTER, substitute=True),
    ),
    Claim(
        "E1",
        "Overcooked: after 10,000 steps MCQS-E has nearly double the agreement of Random Query",
        "nearly 2×",
        MoreAgreement("overcooked-hrl", "mcqs-e", 1.5, _KITCHEN),
    ),
    Claim(
        "E1",
        "Both CSteve variants show the same trend",
        "same trend",
        NotTestable(
            "Qwen2.5-7B does not run here; `crafter-skills` has its place for another model, and "
            "was not measured."
        ),
    ),
    Claim(
        "E1",
        "MCQS learns with fewer interactions than baseline query strategies (abstract)",
        "all problems",
        beats_baselines,
    ),
    Claim(
        "E1, ours",
        "Default MCQS never needs more executions than Random Query with one draw",
        "–",
        beats_one_draw,
    ),
)
_QACE = (
    Claim(
        "E1, QACE",
        "Blocksworld: an accurate model",
        "model learned",
        QaceOutcome("blocksworld", "model learned", _QACE_TOO),
    ),
    *(
        Claim(
            "E1, QACE",
            f"{name}: no model within 50 hours",
            "no model",
            QaceOutcome(problem, "no model", _QACE_TOO if problem == "tireworld" else ""),
        )
        for name, problem in (
            ("Tireworld", "tireworld"),
            ("First Responders", "first-responders"),
            ("Probabilistic Elevators", "probabilistic-elevators"),
            ("Depot", "depot"),
        )
    ),
    Claim(
        "E1, QACE",
        "MiniGrid, Overcooked, Crafter, SayCan: not runnable, states cannot be set",
        "not runnable",
        QaceOutcome("minigrid-q", "not runnable", "It follows from the interface of simulators."),
    ),
)
_FINDINGS = (
    Claim(
        "E2, Fig. 1b",
        "GPT-5.4, asked for the blue key: succeeds with 0.7 from two quadrants, opens an "
        "unnecessary door with 0.5",
        "0.7; 0.5",
        Quirk(
            ("minigrid-react", "minigrid-q"),
            r"Asked for (agent-at|carrying).*also causes (not blue-door-closed|blue-door-open)",
            "The unnecessary door only: a learned policy opens it too, at a rate of its own.",
        ),
    ),
    Claim(
        "E2, Fig. 1b",
        "GPT-5.4, asked to open the blue door: always without the key in hand, 0.8 with it",
        "1.0; 0.8",
        Quirk(("minigrid-react",), r"Asked for blue-door-open", _NO_GPT, measurable=False),
    ),
    Claim(
        "E2, Fig. 1b",
        "GPT-5.4, asked to go south-west: 0.2, and 0.1 if the unnecessary door is open",
        "0.2; 0.1",
        Quirk(("minigrid-react",), r"Asked for agent-at\(south-west\)", _NO_GPT, measurable=False),
    ),
    Claim(
        "E2, Fig. 1b",
        "CSteve, asked to move away from the tree, cuts it down",
        "found",
        Quirk(
            ("crafter-steve",),
            r"Asked for not (next|close)_to\(tree\).*causes not exists\(tree\)",
            _CRAFTER,
        ),
    ),
    Claim(
        "E2, Fig. 1b",
        "CSteve, asked to drink, moves away from the water",
        "0.7",
        Quirk(
            ("crafter-steve",),
            r"Asked for achieved\(collect_drink\).*causes not (next|close)_to\(water\)",
            _CRAFTER,
        ),
    ),
    Claim(
        "E2, Fig. 1b",
        "SayCan, asked to stack green on yellow, succeeds (0.6, or 6 %), or picks up the tower",
        "0.6; 0.4; 6 %",
        Quirk(
            ("tabletop-saycan", "tabletop-affordance"),
            r"Asked for on\(x,y\) when on\(x,z\).*causes on\(z,y\) instead",
            _SAYCAN,
        ),
    ),
    Claim(
        "E2, Fig. 1b",
        "LAO* places block A on C if that is clear, otherwise on B",
        "always",
        Quirk(
            ("blocksworld",),
            r"causes on\(a,c\)",
            "Which of equally short plans LAO* takes is decided by the order of actions, which the "
            "paper does not give. Ours puts A on the table in every state, and its rules say so.",
        ),
    ),
    Claim(
        "E2",
        "Agents lack symmetries under object substitution, so lifted models misrepresent them",
        "examples",
        NotTestable(
            "Two examples, both in Fig. 1b. The adaptive strategy learns from each agent how far "
            "objects are treated alike."
        ),
    ),
)
_REACHABILITY = (
    Claim(
        "E3",
        "MiniGrid: sequences of five capabilities end as predicted",
        "81 % ± 3.6 %",
        Reaches("minigrid-q", 0.81, _GRID),
    ),
    Claim(
        "E3",
        "First Responders: the same",
        "100 %",
        Reaches("first-responders", 1.0, substitute=False),
    ),
    Claim(
        "E3",
        "Crafter, Θ = 4, stochastic: the same",
        "78 % ± 16 %",
        Reaches("crafter-steve:stochastic=yes", 0.78, _CRAFTER),
    ),
)
_ABLATION = (
    Claim("E4", "With ξ = 0, more than 98 % agreement", "> 98 %", learned_without_bonus),
    Claim(
        "E4",
        "With ξ, 98 % takes fewer steps than without in most settings",
        "most",
        BonusEffect(
            _BOTH,
            steps_to_level,
            _mostly_fewer,
            "Change of the steps to 0.98 by ξ, on the same problems in this order; ξ is 0 as long "
            "as queries bring news.",
        ),
    ),
    Claim(
        "E4",
        "MCQS-E stops after 20 % to 40 % more steps with ξ",
        "+20 % to +40 %",
        BonusEffect(
            ("mcqs-e",),
            steps_to_stop,
            _all_more,
            "Change of the steps to the stop; reproduced up to +80 %. Without ξ, the last queries "
            "are random sequences of 20 capabilities.",
        ),
    ),
    Claim(
        "E4",
        "MCQS-S stops after 10 % fewer to 150 % more steps with ξ",
        "−10 % to +150 %",
        BonusEffect(
            ("mcqs-s",),
            steps_to_stop,
            _within_range,
            "Change of the steps to the stop; reproduced from −20 % to +300 %.",
        ),
    ),
    Claim(
        "E4",
        "MCQS-S is more sensitive to ξ than MCQS-E",
        "150 % to 40 %",
        BonusEffect(
            _BOTH,
            steps_to_stop,
            _sampled_more_sensitive,
            "The largest change of each.",
            lambda changes: " to ".join(f"{change:.0%}" for change in _largest(changes)),
        ),
    ),
)
_RUN_TIMES = (
    Claim(
        "Run time",
        "Blocksworld and Tireworld take less than an hour",
        "1 h",
        RunTime(("blocksworld", "tireworld"), 1.0),
    ),
    Claim(
        "Run time",
        "First Responders takes about three hours",
        "3 h",
        RunTime(("first-responders",), 3.0),
    ),
    Claim(
        "Run time",
        "Probabilistic Elevators takes about 24 hours",
        "24 h",
        RunTime(("probabilistic-elevators",), 24.0),
    ),
    Claim(
        "Run time",
        "ReAct 24 hours, Crafter 24 hours, SayCan 72 hours",
        "24 h; 24 h; 72 h",
        NotTestable("The agents are substitutes, and their speed is their own."),
    ),
)
CLAIMS = (*_EFFICIENCY, *_QACE, *_FINDINGS, *_REACHABILITY, *_ABLATION, *_RUN_TIMES)
"""In the order of the paper."""
