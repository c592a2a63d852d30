"""`capscope llm fetch` and `capscope llm serve`: a small language model on this machine."""

from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from capscope.cli.options import Json
from capscope.cli.output import (
    amount_done,
    flush_answers,
    interruptible,
    print_json,
    print_line,
    write_message,
)
from capscope.errors import LlmError
from capscope_worlds.local_llm import (
    CONTEXT,
    SMALL_MODEL,
    fetch_weights,
    local_server,
    weights_path,
)

app = typer.Typer(
    help="Download and serve a small language model on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_MEGABYTE = 1_000_000


@app.command("fetch")
def fetch(json: Json = False) -> None:
    """Download the weights of a small model (93 MB) to the user's cache, once."""
    name = SMALL_MODEL.name
    with interruptible(lambda: "nothing was kept"), amount_done(name, "MB") as show:
        path = fetch_weights(
            progress=lambda done, total: show(done // _MEGABYTE, total // _MEGABYTE)
        )
    if json:
        print_json({"model": name, "path": str(path), "sha256": SMALL_MODEL.sha256})
    else:
        print_line(f"{name}: {path}")
        print_line("serve it to other programs with: capscope llm serve")


@app.command("serve")
def serve(
    gguf: Annotated[
        str | None,
        typer.Argument(metavar="GGUF", help="Weights to serve (default: those downloaded)."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 picks a free one.")] = 0,
    context: Annotated[
        int, typer.Option(min=256, help="Maximum number of tokens in a conversation.")
    ] = CONTEXT,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of threads (default: half the cores).")
    ] = None,
    json: Json = False,
) -> None:
    """Serve weights on this machine with the OpenAI protocol, until Ctrl-C."""
    path = Path(gguf) if gguf else weights_path()
    if gguf is None and not path.is_file():
        raise LlmError("no weights found; run `capscope llm fetch`, or name a GGUF file")
    with local_server(path, port=port, context=context, threads=threads) as base_url:
        if json:
            print_json({"base_url": base_url, "model": path.stem, "gguf": str(path)})
        else:
            print_line(f"serving {path.name} at {base_url}; press Ctrl-C to stop")
            print_line(f"CAPSCOPE_LLM_BASE_URL={base_url} CAPSCOPE_LLM_MODEL={path.stem}")
        flush_answers()
        try:
            Event().wait()
        except KeyboardInterrupt:
            write_message("stopped")
