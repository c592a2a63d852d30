"""`capscope suggest FILE.py:WORLD`: a vocabulary from what tool calls change."""

from typing import Annotated

import typer

from capscope.adapters.tools import suggestion
from capscope.adapters.tools.suggestion import suggested_lines
from capscope.cli.options import Json, Seed
from capscope.cli.output import print_json, print_lines
from capscope.problems import load_object


def suggest_vocabulary(
    world: Annotated[str, typer.Argument(help="A tool world, or a problem with one: FILE.py:NAME")],
    calls: Annotated[int, typer.Option(min=1, help="Random calls to make.")] = 400,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print predicates for a tool world, from the paths of the state that random calls change."""
    found = suggestion.world_of(load_object(world), world)
    if json:
        paths = suggestion.changed_paths(found, calls, seed)
        names = [
            {
                "path": ".".join(one.pattern),
                "predicate": one.predicate,
                "objects": list(one.objects),
                "values": list(one.values),
            }
            for one in paths
        ]
        print_json({"paths": names})
    else:
        print_lines(suggested_lines(found, calls, seed))
