"""The rows of an experiment in CSV files: those measured now, and those kept from before.

The CSV files in the output folder have everything that the tables and figures of a section show.
So one problem can be measured again without the others (`--keep`): its rows are replaced, all
others are kept, and the section is made from both. Kept rows may come from other commands and
machines than those measured last: a small CSV file next to those of the section has both for each
problem and strategy.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from capscope.errors import CapscopeError
from capscope.strategy.registry import STRATEGIES
from capscope_experiments.baselines.uniform_pair import UNIFORM
from capscope_experiments.bench import Bench, row_label, row_problem
from capscope_experiments.curve import CONSTANT
from capscope_experiments.plan import CASES
from capscope_experiments.table import write_csv
from capscope_experiments.variant import strategy_of

Row = Mapping[str, str]
"""A row of a CSV file, by the names of its columns."""
_ORIGIN_HEADS = ("problem", "strategy", "command", "measured")
Order = Callable[[Iterable[Row]], list[Row]]


def in_plan_order(rows: Iterable[Row]) -> list[Row]:
    """Sort rows by problem as planned, by strategy as registered, and by seed; else keep order."""
    rows = list(rows)
    problems = [case.problem for case in CASES]
    problems += sorted({row.get("problem", "") for row in rows} - set(problems))
    known = (*STRATEGIES.all, UNIFORM, CONSTANT)
    strategies = list(dict.fromkeys([*known, *(strategy_of(row_label(row)) for row in rows)]))
    problem_places = {name: place for place, name in enumerate(problems)}
    strategy_places = {name: place for place, name in enumerate(strategies)}
    return sorted(
        rows,
        key=lambda row: (
            problem_places[row.get("problem", "")],
            strategy_places[strategy_of(row_label(row))],
            row.get("strategy", ""),  # a variant comes after what it varies
            int(row.get("seed") or 0),
        ),
    )


def write_rows(
    bench: Bench,
    name: str,
    heads: Sequence[str],
    measured: Iterable[Sequence[object]],
    order: Order = in_plan_order,
    optional: bool = False,
) -> list[Row]:
    """Write rows to a CSV file of the output folder, with those that it keeps; return them all.

    Without rows there is an error or, if they are optional, no file, not even an old one.
    """
    path = bench.output / name
    kept = [row for row in read_rows(path) if not bench.measures(row)] if bench.keep else []
    new = [_named(dict(zip(heads, map(_text, values), strict=True))) for values in measured]
    # A column that is new since a kept row was measured is empty there.
    rows = order({head: row.get(head, "") for head in heads} for row in [*kept, *new])
    if rows:
        write_csv(path, heads, (list(row.values()) for row in rows))
    elif optional:
        path.unlink(missing_ok=True)
    else:
        raise CapscopeError(f"there are no rows for {name}; choose strategies that it is about")
    return rows


def _named(row: Row) -> Row:
    return {**row, "problem": row_problem(row["problem"])} if "problem" in row else row


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a CSV file; none if there is no such file."""
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, restval=""))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CapscopeError(f"cannot read {path}: {error}") from error


def grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Group rows by problem and strategy, in their order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["problem"], row["strategy"]), []).append(row)
    return groups


def number(text: str) -> float | None:
    """Read a number; None if the cell is empty."""
    return float(text) if text else None


def numbers(rows: Iterable[Row], column: str) -> list[float]:
    """Return the numbers in a column, without empty cells."""
    return [float(row[column]) for row in rows if row[column]]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def origins_file(suite: str) -> str:
    """Return the name of the file that has the origins of the rows of an experiment."""
    return f"{suite}-commands.csv"


def require_origins(bench: Bench, suite: str) -> None:
    """Refuse to keep rows if it is not known where they come from."""
    rows, origins = bench.output / f"{suite}.csv", bench.output / origins_file(suite)
    if bench.keep and rows.exists() and not origins.exists():
        raise CapscopeError(
            f"cannot keep the rows of {rows}: there is no {origins.name} that says which commands "
            "measured them; measure them again without --keep"
        )


def combined_origins(bench: Bench, suite: str, command: str, machine: str) -> list[Row]:
    """Write where the rows of an experiment come from, newest last; return it."""
    rows = read_rows(bench.output / f"{suite}.csv")
    keys = {(row.get("problem", ""), row_label(row)): row for row in rows}
    measured = [(*key, command, machine) for key, row in keys.items() if bench.measures(row)]
    return write_rows(bench, origins_file(suite), _ORIGIN_HEADS, measured, order=list)


def commands_text(origins: Sequence[Row]) -> str:
    """Return the commands that rows come from, one a line."""
    return "\n".join(dict.fromkeys(row["command"] for row in origins))


def machines_text(origins: Sequence[Row]) -> str:
    """Say how rows were measured; if they differ in that, which rows how.

    If they differ, without seeds and settings: these are in the commands.
    """
    if len({row["measured"] for row in origins}) == 1:
        return f"*{origins[0]['measured']}*"
    places = [re.sub(r"; \d+ at a time|Seeds .*", "", row["measured"]).strip() for row in origins]
    machines = sorted(set(places), key=places.count)
    named = (f"*{_rows_of(machine, places, origins)}: {machine}*" for machine in machines[:-1])
    last = machines[-1] if len(machines) == 1 else f"All others: {machines[-1]}"
    return "\n\n".join([*named, f"*{last}*"])


def _rows_of(machine: str, places: Sequence[str], origins: Sequence[Row]) -> str:
    """Name the problems that were measured so, with their strategies if others were not."""
    own = [row for row, place in zip(origins, places, strict=True) if place == machine]
    others = {row["problem"] for row in origins if row not in own}
    names = []
    for problem in dict.fromkeys(row["problem"] for row in own):
        strategies = [row["strategy"] for row in own if row["problem"] == problem]
        names.append(f"{problem} ({'; '.join(strategies)})" if problem in others else problem)
    return ", ".join(names)
