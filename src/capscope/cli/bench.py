"""`capscope bench [SUITE]`: run the experiments, which are not part of the wheel."""

import sys
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

import capscope
from capscope.errors import CapscopeError

EXPERIMENTS = Path(capscope.__file__).parents[2] / "experiments"
"""Next to the sources of an editable installation; nowhere else."""


class BenchCommand(TyperCommand):
    """Becomes the command of the experiments when it is used, if they are there."""

    allow_extra_args = True
    ignore_unknown_options = True

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """Parse the arguments; the context belongs to the command that will be invoked."""
        if not (EXPERIMENTS / "capscope_experiments").is_dir():
            return super().make_context(*given, **extra)
        if str(EXPERIMENTS) not in sys.path:
            sys.path.append(str(EXPERIMENTS))
        from capscope_experiments.command import app

        return typer.main.get_command(app).make_context(*given, **extra)


COMMAND_CLASS = BenchCommand


def bench_suite() -> None:
    """Run the experiments; needs a clone of the repository.

    The experiments are not part of the installed package. In a clone of the repository, run
    `pip install --editable '.[all,experiments]'` and then `capscope bench`.
    """
    raise CapscopeError(
        "the experiments are in capscope's repository, not in the installed package; in a clone, "
        "run: pip install --editable '.[all,experiments]' && capscope bench"
    )
