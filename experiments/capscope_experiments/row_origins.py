"""Which command measured the rows of a section, and on which machine.

Rows that are kept may come from other commands and machines than those measured last. A small CSV
file next to those of the section has both for each problem and strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

from capscope.errors import CapscopeError
from capscope_experiments.bench import Bench, row_strategy
from capscope_experiments.result_rows import Row, read_rows, write_rows

_HEADS = ("problem", "strategy", "command", "measured")


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
    keys = {(row.get("problem", ""), row_strategy(row)): row for row in rows}
    measured = [(*key, command, machine) for key, row in keys.items() if bench.measures(row)]
    return write_rows(bench, origins_file(suite), _HEADS, measured, order=list)


def commands_text(origins: Sequence[Row]) -> str:
    """Return the commands that rows come from, one a line."""
    return "\n".join(dict.fromkeys(row["command"] for row in origins))


def machines_text(origins: Sequence[Row]) -> str:
    """Say how rows were measured; if they differ in that, which rows how."""
    machines = list(dict.fromkeys(row["measured"] for row in origins))
    if len(machines) == 1:
        return f"*{machines[0]}*"
    return "\n\n".join(f"*{_rows_of(machine, origins)}: {machine}*" for machine in machines)


def _rows_of(machine: str, origins: Sequence[Row]) -> str:
    """Name the problems that were measured so, with their strategies if others were not."""
    own = [row for row in origins if row["measured"] == machine]
    others = {row["problem"] for row in origins if row["measured"] != machine}
    names = []
    for problem in dict.fromkeys(row["problem"] for row in own):
        strategies = [row["strategy"] for row in own if row["problem"] == problem]
        names.append(f"{problem} ({', '.join(strategies)})" if problem in others else problem)
    return ", ".join(names)
