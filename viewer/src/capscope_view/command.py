"""`capscope view [RUNS]`: a local page with the runs below a folder."""

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from capscope.cli.options import DrawPictures, Json, OpenInBrowser
from capscope.cli.output import flush_answers, print_json, print_line, write_message
from capscope.errors import CapscopeError
from capscope.journal.run_meta import Budget
from capscope_view.server import companion, serving


def view_runs(
    runs: Annotated[
        str, typer.Argument(metavar="RUNS", help="A folder with runs, or a run directory.")
    ] = "runs",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 0,
    pictures: DrawPictures = None,
    show: OpenInBrowser = False,
    json: Json = False,
) -> None:
    """Serve a page with the runs below a folder on this machine, until Ctrl-C.

    Runs are read only, and can be watched while they go on. The address has a token: only those who
    know it see the page.
    """
    folder = Path(runs)
    if not folder.is_dir():
        raise CapscopeError(f"no folder {runs}; `capscope assess` makes one, or name another")
    with serving(folder, port=port, pictures=pictures) as server:
        if json:
            print_json({"address": server.address, "folder": str(folder)})
        else:
            print_line(f"{folder} at {server.address} (press Ctrl-C to stop)")
        flush_answers()
        if show:
            webbrowser.open(server.address)
        try:
            Event().wait()
        except KeyboardInterrupt:
            write_message("stopped")


@contextmanager
def live_page(directory: Path, budget: Budget | None) -> Iterator[None]:
    """Serve a run while the block runs, for `assess --live`.

    Args:
        directory: The run, which need not exist yet.
        budget: What the run may spend. With a limit of time, open pages are not waited for.
    """
    unlimited = budget is None or budget.seconds is None
    with companion(directory, wait_for_pages=unlimited) as address:
        write_message(f"live: {address}")
        yield
    write_message(f"the live page has ended; look again with: capscope view {directory}")
