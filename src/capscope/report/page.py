"""Pages for people: one HTML file each that needs nothing else and runs nothing but our own.

What an agent says, and what a problem calls its objects, stands in these pages, and either may be
hostile. Escaping alone is one mistake away from running a stranger's script, so there are three
walls. Characters that do not show, such as those that turn the direction of writing, are spelled
out. Every value is escaped: by the templates where it is text, and as JSON without angle brackets
where it travels to a script, which writes it only as text. And the page states a policy to the
browser: nothing is loaded from anywhere, and no script runs but those whose hash stands there.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_HERE = Path(__file__).parent
_FIRST = "theme.js"
"""Runs before anything is shown, on every page."""


def render(template: str, scripts: Sequence[str] = (), **values: Any) -> str:
    """Fill in a template; `scripts` are files of `assets`, run in this order at the page's end.

    A template that extends `base.html.j2` gets the policy, the styles and both colour schemes.
    """
    first, *others = (_asset(name) for name in (_FIRST, *scripts))
    return _environment().get_template(template).render(
        {"policy": _policy([first, *others]), "first": first, "scripts": others} | values
    )


def _policy(scripts: Sequence[str]) -> str:
    """Forbid everything but the scripts given, styles, and pictures that are part of the page.

    Styles may stand at elements, for bars are drawn by them; with nothing to load, they can tell
    nobody anything.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> Markup:
    """Read a file of our own, which goes into the page as it is."""
    return Markup((_HERE / "assets" / name).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = _asset
    # Not a number is not JSON: better an error here than a page that stays empty.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment
