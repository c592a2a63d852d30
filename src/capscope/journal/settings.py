"""The settings of a run, declared once: for Python, for the command line and for `run.json`.

A field's metadata holds its help text and bounds. A few settings are options of the command line;
the others are given as `--set name=value`. The journal stores all of them, so that a run can be
repeated and a resumed one compared. The defaults are the paper's where it gives one, but for the
departures in `PAPER`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from capscope.errors import CapscopeError

_BATCH_PER_WORKER = 8
"""Draws differ in length: a worker that is done early takes another one of the same batch. At the
end of a batch it waits: with 4, two workers were 1.6 times as fast as one, with 8 1.7 times."""
PAPER: Mapping[str, Any] = {"draws": 25, "patience": 25, "starts": 1, "replays": 0}
"""The settings whose defaults depart from the paper, with what the paper has."""


class OptionGroup(StrEnum):
    """Options of the command line that belong together."""

    WHAT = "What to ask"
    BUDGET = "Budget"
    WHERE = "Where"
    CLAIM = "What to show before it stops"


def _setting(
    default: Any,
    text: str,
    minimum: float = 0,
    maximum: float = math.inf,
    group: OptionGroup | None = None,
    **option: str,
) -> Any:
    bounds = {"minimum": minimum, "maximum": maximum}
    return field(default=default, metadata={"help": text, "group": group, **bounds, **option})


def _repeatable(option: str, text: str) -> Any:
    return _setting((), text, group=OptionGroup.WHAT, option=option)


def named(setting: Field[Any]) -> str:
    """Return how the command line names a setting: as an option, or after `--set`."""
    if "option" in setting.metadata:
        return str(setting.metadata["option"])
    name = setting.name.replace("_", "-")
    return f"--{name}" if setting.metadata["group"] else f"--set {name}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How queries are made, executed and ended."""

    draws: int = _setting(5, f"Draws of each query; {PAPER['draws']} in the paper.", 1)
    depth: int = _setting(20, "Maximum number of capabilities in one draw.", 1)
    iterations: int = _setting(1000, "Iterations of each tree search.", 1)
    exploration: float = _setting(math.sqrt(2), "UCT exploration constant λ.")
    xi: float = _setting(1e-5, "Largest revisitation bonus ξ; 0 rewards only disagreement.", 0, 1)
    threshold: float = _setting(1e-3, "Predicted disagreement above which a query is informative.")
    random_length: int = _setting(30, "Capabilities in a random query.", 1)
    patience: int = _setting(
        125,
        "Stop after this many queries in a row that show nothing new; "
        f"{PAPER['patience']} in the paper, of {PAPER['draws']} draws.",
        1,
    )
    shift: float = _setting(0.05, "Change of an effect's probability that counts as new.")
    reuse_changes: int = _setting(
        100, "Symbolic changes after which queries continue from another position.", 1
    )
    starts: int = _setting(
        5,
        "Starts to search before asking a query that is not informative; "
        f"{PAPER['starts']} in the paper.",
        1,
    )
    batch: int = _setting(
        0,
        "Draws chosen together and shared by the workers; 0: 1 for one worker, else "
        f"{_BATCH_PER_WORKER} for each.",
    )
    epsilon: float = _setting(
        0.1, "Probability above which an outcome should not be missed (exhaustive).", 0, 1
    )
    delta: float = _setting(
        0.05, "Probability with which the final statement may be wrong (exhaustive).", 1e-6, 0.5
    )
    precision: float = _setting(
        0.05, "Precision to which a rule's probabilities should be known (exhaustive).", 0.001, 1
    )
    min_draws: int = _setting(
        1,
        "Minimum number of executions of each pair of state and capability (exhaustive).",
        1,
    )
    audit: float = _setting(
        0.01,
        "Stop when an audit shows that at most this rate of executions surprises the model; 0 "
        "asks for no audit (adaptive).",
        0,
        0.5,
        OptionGroup.CLAIM,
    )
    confidence: float = _setting(
        0.95, "Confidence of the audit's statement (adaptive).", 0.5, 0.9999, OptionGroup.CLAIM
    )
    audit_length: int = _setting(
        5,
        "Maximum number of capabilities in a sequence of the audit; 0 draws single capabilities in "
        "random seen states instead (adaptive).",
        group=OptionGroup.CLAIM,
    )
    within: float = _setting(
        0.02,
        "Rate of executions in use that may do what the baseline never would for the agent to be "
        "called unchanged (compare).",
        1e-4,
        0.5,
    )
    confirm: float = _setting(
        0.2,
        "Largest share of the executions that follow up changes beyond requests and refusals "
        "(adaptive).",
        0,
        0.9,
    )
    scope: int = _setting(
        0, "Ask only in states that fewer than this many capabilities lead to; 0: all (adaptive)."
    )
    resets: int = _setting(
        1,
        "Resets whose positions a run starts from; identical positions count once.",
        1,
        group=OptionGroup.WHAT,
    )
    snapshots: int = _setting(8, "Snapshots kept for each symbolic state.", 1)
    walks: int = _setting(10, "Random walks of primitive actions that discover intents.", 0)
    walk_steps: int = _setting(100, "Simulator steps in each discovery walk.", 1)
    replays: int = _setting(
        300,
        "Simulator steps to find out, without the agent, whether a request needed a change beyond "
        f"it, for each change examined; {PAPER['replays']} in the paper: none is.",
    )
    replay_ratio: float = _setting(
        0.25,
        "Simulator steps of replays for each step of the executions; beside these, as many as for "
        "one change are free.",
    )
    intents: tuple[str, ...] = _repeatable(
        "--intents",
        "An intent to assess, like 'on(a,b) and not clear(c)' or 'on(a,b) or on(a,c)'; repeatable; "
        "replaces discovery.",
    )
    hazards: tuple[str, ...] = _repeatable(
        "--hazard",
        "What must not happen, like 'gone(x)' or 'not attachment(*)'; repeatable. The run searches "
        "for paths to it, and says how likely it is (adaptive).",
    )
    expected: tuple[str, ...] = _repeatable(
        "--expected",
        "What belongs to an intent and is not a side effect, like 'deleted(*): not archived(*)'; "
        "repeatable.",
    )

    def __post_init__(self) -> None:
        for declared in fields(self):
            value = getattr(self, declared.name)
            if isinstance(value, tuple):
                continue
            minimum, maximum = declared.metadata["minimum"], declared.metadata["maximum"]
            if not minimum <= value <= maximum:
                bound = f"at most {maximum}" if value > maximum else f"at least {minimum}"
                raise CapscopeError(f"{named(declared)} must be {bound}, not {value}")

    @property
    def use_length(self) -> int:
        """The maximum number of requests in a sequence that is drawn as in use: by an audit.

        Use is modelled as random requests, one after the other, after a reset. It is 0
        if audits draw single requests in any state instead.
        """
        return min(self.audit_length, self.scope or self.audit_length)

    @property
    def batch_size(self) -> int:
        """The number of draws chosen together."""
        return self.batch or 1

    def with_batch_for(self, workers: int) -> Settings:
        """Return these settings with a batch for this number of workers, if none was given."""
        if self.batch:
            return self
        return replace(self, batch=1 if workers == 1 else _BATCH_PER_WORKER * workers)

    def as_in_paper(self) -> Settings:
        """Return these settings without departures from the paper, but for values of one's own."""
        own = self.changed()
        return replace(self, **{name: PAPER[name] for name in PAPER if name not in own})

    def changed(self) -> dict[str, Any]:
        """Return what differs from the defaults."""
        default = Settings(batch=1)
        shown = replace(self, batch=self.batch_size)
        return {
            field.name: value
            for field in fields(self)
            if (value := getattr(shown, field.name)) != getattr(default, field.name)
        }
