"""`capscope evaluate DIR`: how well the learned model agrees with the agent."""

from typing import Annotated

import typer

from capscope.assessment.workers import WorkerSettings
from capscope.cli.options import Json, RecordedProblem, RunArgument, Trust, with_workers
from capscope.cli.output import amount_done, interruptible, phases, print_answer, write_message
from capscope.insight.evaluation.evaluate import Measure, evaluation_lines
from capscope.insight.evaluation.sample import Progress
from capscope.problems import canonical_source
from capscope.run import load
from capscope.wording import counted

_DEFAULT = Measure()
_KEPT = "the sequences made so far are kept. Continue with the same command, without --rebuild"


@with_workers
def evaluate_run(
    run: RunArgument,
    workers: WorkerSettings,
    problem: RecordedProblem = None,
    sequences: Annotated[
        int,
        typer.Option(
            min=0,
            help="Random capability sequences in the independent dataset; 0: no sampled metrics.",
        ),
    ] = _DEFAULT.sequences,
    seed: Annotated[int, typer.Option(help="Seed of those sequences.")] = _DEFAULT.seed,
    achieving_only: Annotated[
        bool,
        typer.Option(
            help="Apply the paper's filter to the agreements: count only executions that achieve "
            "the intent, and only rules that do."
        ),
    ] = False,
    after_executions: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Evaluate the model as it was after the last query within this many executions.",
        ),
    ] = None,
    after_steps: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="The same in simulator steps, those of discovery included.",
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Build the dataset again. Needed after a change of the agent or the simulator "
            "that does not change the problem's fingerprint.",
        ),
    ] = False,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Compare a learned model with the exact truth, if known, and with independent samples.

    The dataset of samples is built once and kept in `datasets` beside the run directory.
    """
    source = canonical_source(problem) if problem else None
    measure = Measure(sequences, seed, achieving_only, rebuild, after_executions, after_steps)
    with phases("evaluate"):
        loaded = load(run)
    with interruptible(lambda: _KEPT), amount_done("independent dataset", "sequences") as shown:
        document = loaded.evaluate(
            measure, problem=source, trust=trust, progress=_announced(shown), workers=workers
        )
    print_answer(json, lambda: document, lambda: evaluation_lines(document))


def _announced(shown: Progress) -> Progress:
    """Explain at the first call what takes long, and how to shorten it."""
    begun = False

    def progress(done: int, of: int) -> None:
        nonlocal begun
        if not begun:
            begun = True
            write_message(
                f"building the independent dataset: {counted(of - done, 'random sequence')} of "
                "capabilities, once for all runs of this problem. --sequences makes it smaller; "
                "you can interrupt it and continue with the same command"
            )
        shown(done, of)

    return progress
