"""`capscope diff A B`: what B can do that A could not, and the other way round."""

from pathlib import Path
from typing import Annotated

import typer

from capscope.cli.eval_logs import diff_logs, is_log
from capscope.cli.options import Json
from capscope.cli.output import phases, print_with_page
from capscope.errors import CapscopeError
from capscope.insight.diff import Comparison, RunData, RunTable, compare_data, table_of
from capscope.insight.diff.wording import NOT_COMPARABLE, comparison_lines, table_lines
from capscope.journal.run_directory import write_atomically
from capscope.logic import to_json
from capscope.phases import begin_phase
from capscope.run import load
from capscope.stats.error_budget import ERROR_RATE


def diff_runs(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [C ...]",
            help="The run directories, or two eval logs of inspect, the baseline first.",
        ),
    ],
    error_rate: Annotated[
        float, typer.Option(help="False-positive rate over everything that is compared.")
    ] = ERROR_RATE,
    fail_on_loss: Annotated[
        bool,
        typer.Option(
            "--fail-on-loss", help="Exit with 1 if something was lost or became less reliable."
        ),
    ] = False,
    fail_on_side_effects: Annotated[
        bool,
        typer.Option(
            "--fail-on-side-effects",
            help="Exit with 1 if a side effect is new or became more frequent, or if a new change "
            "beyond the request is suspected.",
        ),
    ] = False,
    fail_on_hazard: Annotated[
        bool,
        typer.Option(
            "--fail-on-hazard",
            help="Exit with 1 if a hazard of either run is new or became more frequent.",
        ),
    ] = False,
    any_position: Annotated[
        bool,
        typer.Option(
            "--any-position",
            help="Assume that the symbolic state captures everything that matters: executions from "
            "different positions of the simulator count as equal.",
        ),
    ] = False,
    margin: Annotated[
        float,
        typer.Option(help="Of eval logs: a change of a mean score by less than this is none."),
    ] = 0.05,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the comparison as a page.")
    ] = None,
    json: Json = False,
) -> None:
    """Report the differences between runs that the evidence supports.

    Several runs become a table by capability, in which each is compared with the one before; the
    exit code is about the last against the first.
    """
    if any(map(is_log, runs)):
        diff_logs(runs, error_rate, margin, html, json)
    if len(runs) < 2:
        raise CapscopeError("name at least two run directories")
    with phases("diff"):
        given = [load(run) for run in runs]
        loaded = [RunData.of(run) for run in given]
        begin_phase("comparing")
        found: RunTable | Comparison
        if len(loaded) > 2:
            found = table_of(loaded, error_rate=error_rate, any_position=any_position)
            overall = found.overall
        else:
            found = compare_data(*loaded, error_rate=error_rate, any_position=any_position)
            overall = found
        code = _code(overall, fail_on_loss, fail_on_side_effects)
        if fail_on_hazard:
            if not any(one.hazards for one in loaded):
                raise CapscopeError("none of these runs was given a hazard; assess with --hazard")
            code = max(code, int(overall.more_hazardous))
        if html is not None:
            from capscope.report.page.difference import difference_page, table_page

            begin_phase("writing the page")
            if isinstance(found, RunTable):
                page = table_page(found)
            else:
                page = difference_page(found, given[-1])
            write_atomically(Path(html), page)
    lines = table_lines(found) if isinstance(found, RunTable) else comparison_lines(found)
    print_with_page(json, to_json(found), lines, html)
    raise typer.Exit(code)


def _code(comparison: Comparison, losses: bool, side_effects: bool) -> int:
    new = (*comparison.new_side_effects, *comparison.suspected_changes)
    if (losses and comparison.losses) or (side_effects and new):
        return 1
    if (losses or side_effects) and not (comparison.unchanged or comparison.differences):
        raise CapscopeError(
            f"{NOT_COMPARABLE}; assess both again with --until settled --set min-draws=30 and a "
            "larger budget, or, if their states capture everything that matters, compare with "
            "--any-position"
        )
    return 0
