"""`capscope plan DIR --goal "…"`: how to bring the agent to a goal most reliably; and does it work?

`--try N` has the agent carry the plan out and compares. That needs the problem; planning does not.
"""

from __future__ import annotations

import sys
from math import inf
from typing import Annotated, Any

import typer

from capscope.analysis.planning import Plan, PlanAttempt, Trial, TrialSettings
from capscope.cli.options import Json, MaxCost, MaxTokens, RunArgument
from capscope.cli.output import amount_done, print_json, print_line
from capscope.present.plans import plan_document, plan_lines, trial_document, trial_lines
from capscope.present.text import counted
from capscope.run import Run, load
from capscope.world import Allowance

_DEFAULT = TrialSettings(0)


def plan_run(
    run: RunArgument,
    goal: Annotated[
        str,
        typer.Option(help="What is to hold: literals, like 'on(a,b) and not holding(c)'."),
    ],
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Where it begins: literals too, or a state as in model.json; where the run began "
            "if left out.",
            show_default=False,
        ),
    ] = None,
    tries: Annotated[
        int, typer.Option("--try", min=0, help="Have the agent carry it out so many times.")
    ] = 0,
    longest: Annotated[
        int, typer.Option(min=1, help="Most executions in one try.")
    ] = _DEFAULT.longest,
    seed: Annotated[int, typer.Option(help="Seeds all randomness.")] = 0,
    max_tokens: MaxTokens = None,
    max_cost: MaxCost = None,
    json: Json = False,
) -> None:
    """Plan with the learned model: the most reliable policy of capabilities for a goal.

    By the pessimistic model, so nothing that was never tried is counted on. Exits with 1 if no way
    is known. Tries are not recorded in the run.
    """
    loaded = load(run)
    made = loaded.plan(goal, start=start)
    if not json:
        for line in plan_lines(made, loaded.problem, start):
            print_line(line)
    allowance = Allowance(_most(max_tokens), _most(max_cost))
    trial, interrupted = None, False
    if tries and made.found:
        trial, interrupted = _tried(loaded, made, TrialSettings(tries, longest, seed, allowance))
    if json:
        document = plan_document(made, loaded.problem, start)
        print_json({**document, "trial": _trial_document(trial, interrupted)})
    elif trial is not None:
        print_line()
        for line in trial_lines(trial):
            print_line(line)
    raise typer.Exit(130 if interrupted else 0 if made.found else 1)


def _most(allowed: float | None) -> float:
    return inf if allowed is None else allowed


def _tried(run: Run, made: Plan, settings: TrialSettings) -> tuple[Trial, bool]:
    """Try a plan; after Ctrl-C what was tried until then is reported all the same."""
    done: list[PlanAttempt] = []
    with amount_done("trying the plan", "tries") as shown:

        def heard(one: PlanAttempt) -> None:
            done.append(one)
            shown(len(done), settings.tries)

        try:
            trial = run.try_plan(made, settings, heard=heard)
        except KeyboardInterrupt:
            sys.stderr.write(f"interrupted after {len(done)} of {counted(settings.tries, 'try')}\n")
            return Trial(made, tuple(done), settings.longest), True
    if len(done) < settings.tries:
        sys.stderr.write(
            f"the budget was spent after {len(done)} of {counted(settings.tries, 'try')}\n"
        )
    return trial, False


def _trial_document(trial: Trial | None, interrupted: bool) -> dict[str, Any] | None:
    return None if trial is None else {**trial_document(trial), "interrupted": interrupted}
