"""`capscope evaluate DIR`: how well the learned model agrees with the agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from capscope.cli.options import Json, RunDirectory
from capscope.cli.output import print_json, print_line
from capscope.evaluation.evaluate import evaluate


def evaluate_run(
    run: RunDirectory,
    sequences: Annotated[
        int, typer.Option(min=0, help="Random capability sequences for the sampled agreement.")
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of those sequences.")] = 1_000_003,
    achieving_only: Annotated[
        bool,
        typer.Option(help="Apply the paper's filter: count only rules that achieve their intent."),
    ] = False,
    json: Json = False,
) -> None:
    """Compare a learned model with the exact truth, where known, and with fresh samples."""
    from capscope.problems import load_problem

    document = evaluate(Path(run), load_problem, sequences, seed, achieving_only)
    if json:
        print_json(document)
        return
    reachable = document["pairs_reachable"]
    of = f" of {reachable:,} reachable" if reachable is not None else ""
    rows = {
        "model agreement, exact": _share(document["model_agreement"]),
        "model agreement, sampled": _share(document["model_agreement_sampled"]),
        "… weighted by what the learner saw": _share(
            document["model_agreement_sampled_learned_weights"]
        ),
        "pairs of state and capability tried": f"{document['pairs_tried']:,}{of}",
    }
    for name, value in rows.items():
        print_line(f"{name:<38}{value}")
    if achieving_only:
        print_line("filter: only rules and capabilities that achieve their intent")


def _share(value: Any) -> str:
    return "unknown" if value is None else f"{value:.4f}"
