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
    print_line(f"model agreement, exact:                    {_share(document['model_agreement'])}")
    sampled = document["model_agreement_sampled"]
    print_line(f"model agreement, sampled:                  {_share(sampled)}")
    learned = document["model_agreement_sampled_learned_weights"]
    print_line(f"model agreement, sampled, learner's weights: {_share(learned)}")
    reachable = document["pairs_reachable"]
    of = f" of {reachable:,} reachable" if reachable is not None else ""
    print_line(f"pairs of state and capability tried:       {document['pairs_tried']:,}{of}")
    if achieving_only:
        print_line("filter: only rules and capabilities that achieve their intent")


def _share(value: Any) -> str:
    return "unknown" if value is None else f"{value:.4f}"
