"""`capscope evaluate DIR`: how well the learned model agrees with the agent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from capscope.analysis.evaluation.evaluate import Measure
from capscope.analysis.evaluation.sample import Heard
from capscope.cli.options import Json, RunArgument
from capscope.cli.output import amount_done, print_json, print_line
from capscope.present.text import counted
from capscope.run import load

_DEFAULT = Measure()
_EXACT = frozenset({"model_agreement", "support_right", "unknown_share"})
"""What is compared with the exact truth."""


def evaluate_run(
    run: RunArgument,
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
            help="Apply the paper's filter to the agreements: count only where the intent is "
            "achieved, and only rules that achieve it."
        ),
    ] = False,
    after_executions: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Evaluate the model as it was after so many executions: at the end of the last "
            "query that was within them.",
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Build the dataset anew. Needed after a change of the agent or the simulator "
            "that the problem's fingerprint does not show: it cannot be noticed.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Compare a learned model with the exact truth, where known, and with independent samples.

    The dataset of samples is built once and kept in `datasets` beside the run directory.
    """
    measure = Measure(sequences, seed, achieving_only, rebuild, after_executions)
    with _interruptible(), amount_done("independent dataset", "sequences") as shown:
        document = load(run).evaluate(measure, heard=_announced(shown))
    if json:
        print_json(document)
        return
    for name, value in _rows(document).items():
        print_line(f"{name:<46}{value}")
    if achieving_only:
        print_line("filter: only rules and capabilities that achieve their intent")


def _announced(shown: Heard) -> Heard:
    """Say at the beginning what takes so long, and how to have less of it."""
    begun = False

    def heard(done: int, of: int) -> None:
        nonlocal begun
        if not begun:
            begun = True
            sys.stderr.write(
                f"building the independent dataset: {counted(of - done, 'random sequence')} of "
                "capabilities, once for all runs of this problem. --sequences makes it smaller; it "
                "can be interrupted, and the same command goes on\n"
            )
        shown(done, of)

    return heard


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turn Ctrl-C into exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(
            "interrupted; the sequences made so far are kept. Go on with the same command, "
            "without --rebuild\n"
        )
        raise typer.Exit(130) from None


def _rows(document: dict[str, Any]) -> dict[str, str]:
    shares = {
        "model agreement, exact": "model_agreement",
        "model agreement, sampled": "model_agreement_sampled",
        "… weighted by what the learner saw": "model_agreement_sampled_learned_weights",
        "calibration error of predicted success": "calibration_error",
        "transitions with exactly the right outcomes": "support_right",
        "executions whose outcome was foreseen": "outcomes_foreseen",
        "reachable pairs still unknown": "unknown_share",
        "executions of unknown pairs": "unknown_share_sampled",
    }
    reachable = document["pairs_reachable"]
    of = f" of {reachable:,} reachable" if reachable is not None else ""
    without_truth = ": this problem has no exact truth" if reachable is None else ""
    without_dataset = "" if document["dataset"] else ": no sequences were asked for (--sequences)"
    rows = {
        name: _share(document[key], without_truth if key in _EXACT else without_dataset)
        for name, key in shares.items()
    }
    rows["pairs of state and capability tried"] = f"{document['pairs_tried']:,}{of}"
    rows["evaluated after"] = (
        f"{counted(document['executions'], 'execution')}, "
        f"{counted(document['simulator_steps'], 'simulator step')}"
    )
    if document["dataset"]:
        rows["independent dataset"] = (
            f"{document['dataset']}, {counted(document['sequences'], 'sequence')}"
        )
    return rows


def _share(value: Any, missing: str) -> str:
    return f"not available{missing}" if value is None else f"{value:.4f}"
