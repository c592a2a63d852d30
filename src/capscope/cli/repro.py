"""`capscope repro DIR [FINDING]`: a test for each finding, which needs no run."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from capscope.cli.options import Json, RunArgument, Trust
from capscope.cli.output import phases, print_answer
from capscope.errors import CapscopeError
from capscope.insight.findings import Finding
from capscope.logic import to_json
from capscope.phases import begin_phase
from capscope.problems import canonical_source
from capscope.repro.make import Repro, make_repro
from capscope.run import Run, load
from capscope.wording import counted, share, wrapped

Skipped = tuple[str, str]
"""The sentence of a finding without a test, and why there is none."""


def write_tests(
    run: RunArgument,
    finding: Annotated[
        int | None,
        typer.Argument(
            min=1,
            metavar="[FINDING]",
            help="Its number in `capscope show DIR --findings`.  [default: 1]",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Write a test for each finding to watch out for.")
    ] = False,
    output: Annotated[
        str, typer.Option("--output", metavar="DIR", help="Where to write the tests.")
    ] = ".",
    max_executions: Annotated[
        int, typer.Option(min=1, help="Executions to choose and shrink a position, at most.")
    ] = 2000,
    problem: Annotated[
        str | None,
        typer.Option(help="The problem, instead of the one that the run directory names."),
    ] = None,
    trust: Trust = False,
    json: Json = False,
) -> None:
    """Write a pytest file for a finding: it fails on this agent, and passes without the finding.

    The test has the position, the request and the assertion, and as many executions as show the
    finding with 99 %. Positions that are JSON are shrunk to the objects that it takes.
    """
    with phases("repro"):
        loaded = load(run)
        chosen = _chosen(loaded, finding, every)
        source = None if problem is None else canonical_source([problem])
        agent = loaded.load_problem(source, trust=trust)
        write = partial(
            make_repro, loaded, agent, folder=Path(output), most_executions=max_executions,
            source=source,
        )  # fmt: skip
        made, skipped = _made(write, chosen, every)
    print_answer(
        json,
        lambda: {
            "problem": loaded.problem,
            "tests": to_json(made),
            "skipped": [{"finding": sentence, "reason": why} for sentence, why in skipped],
        },
        lambda: _lines(made, skipped),
    )
    raise typer.Exit(0 if all(one.fails for one in made) else 1)


def _chosen(run: Run, number: int | None, every: bool) -> list[Finding]:
    findings = run.findings()
    if every:
        return [one for one in findings if one.watch]
    if not findings or (number or 1) > len(findings):
        raise CapscopeError(
            f"{run.path} has {counted(len(findings), 'finding')}; list them with: capscope show "
            f"{run.path} --findings"
        )
    return [findings[(number or 1) - 1]]


def _made(
    write: Callable[[Finding], Repro], chosen: Sequence[Finding], every: bool
) -> tuple[list[Repro], list[Skipped]]:
    made: list[Repro] = []
    skipped: list[Skipped] = []
    for number, finding in enumerate(chosen, 1):
        begin_phase(f"finding {number} of {len(chosen)}")
        try:
            made.append(write(finding))
        except CapscopeError as error:
            if not every:
                raise
            skipped.append((finding.sentence, str(error)))
    return made, skipped


def _lines(made: Sequence[Repro], skipped: Sequence[Skipped]) -> Iterator[str]:
    for one in made:
        yield one.file
        fails = "fails on this agent" if one.fails else "does NOT fail on this agent"
        size = f"{one.objects} of {counted(one.objects_of_problem, 'object')}"
        yield (
            f"  {fails}, in at most {counted(one.times, 'execution')} with {share(one.power)}; "
            f"{size}{', shrunk' if one.shrunk else ''}"
        )
        yield f"  cost: {counted(one.executions, 'execution')}, {one.seconds:.1f} s"
    for sentence, why in skipped:
        yield "no test:"
        yield from wrapped(sentence, "  ", "  ")
        yield from wrapped(why, "  ", "  ")
    total = sum(one.executions for one in made)
    yield f"{counted(len(made), 'test')}, {counted(total, 'execution')} to make them"
