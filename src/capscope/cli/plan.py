"""`capscope plan DIR --goal "…"`: the most reliable path to a goal.

`--try N` has the agent execute the plan and compares. That needs the problem; planning does not.
"""

from functools import partial
from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument, Seed, Trust, with_budget
from capscope.cli.output import amount_done, print_json, print_line, print_lines, write_message
from capscope.insight.planning import Plan
from capscope.insight.planning.trial import PlanAttempt, Trial, TrialSettings
from capscope.insight.planning.wording import plan_document, plan_lines, trial_document, trial_lines
from capscope.journal.run_meta import Budget
from capscope.run import Run, load
from capscope.wording import counted

_DEFAULT = TrialSettings(0)


@partial(with_budget, limits=("max_tokens", "max_cost"))
def plan_run(
    run: RunArgument,
    goal: Annotated[
        str, typer.Option(help="What is to hold: literals, like 'on(a,b) and not holding(c)'.")
    ],
    budget: Budget | None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The start: literals, or a state as in model.json.  [default: the start of the "
            "run]",
            show_default=False,
        ),
    ] = None,
    inferred: Annotated[
        bool | None,
        typer.Option(
            "--inferred/--no-inferred",
            help="Allow steps that were never tried, as the model infers them, or never do.  "
            "[default: only if nothing that was tried leads to the goal]",
            show_default=False,
        ),
    ] = None,
    tries: Annotated[
        int, typer.Option("--try", min=0, help="Have the agent execute the plan N times.")
    ] = 0,
    longest: Annotated[
        int, typer.Option(min=1, help="Maximum number of executions in one try.")
    ] = _DEFAULT.longest,
    seed: Seed = 0,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Plan with the learned model: the most reliable policy of capabilities for a goal.

    Its steps were tried; if nothing that was tried leads to the goal, some are inferred, and
    marked so. Exits with 1 if no way is known. Tries are not recorded in the run.
    """
    loaded = load(run)
    made = loaded.plan(goal, start=start, inferred=inferred)
    if not json:
        print_lines(plan_lines(made, loaded.problem, start))
    trial, interrupted = None, False
    if tries and made.found:
        settings = TrialSettings(tries, longest, seed, (budget or Budget()).allowance())
        trial, interrupted = _tried(loaded, made, settings, trust)
    if json:
        tried = trial and {**trial_document(trial), "interrupted": interrupted}
        print_json({**plan_document(made, loaded.problem, start), "trial": tried})
    elif trial is not None:
        print_line()
        print_lines(trial_lines(trial))
    raise typer.Exit(130 if interrupted else 0 if made.found else 1)


def _tried(run: Run, made: Plan, settings: TrialSettings, trust: bool) -> tuple[Trial, bool]:
    """Try a plan; after Ctrl-C, return what was tried until then, and True."""
    done: list[PlanAttempt] = []
    of = counted(settings.tries, "try")
    with amount_done("trying the plan", "tries") as shown:

        def listen(one: PlanAttempt) -> None:
            done.append(one)
            shown(len(done), settings.tries)

        try:
            trial = run.try_plan(made, settings, trust=trust, listener=listen)
        except KeyboardInterrupt:
            write_message(f"interrupted after {len(done)} of {of}")
            return Trial(made, tuple(done), settings.longest), True
    if len(done) < settings.tries:
        write_message(f"the budget was spent after {len(done)} of {of}")
    return trial, False
