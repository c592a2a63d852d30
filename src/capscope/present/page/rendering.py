"""Templates and scripts become one HTML file that needs nothing else and runs nothing but our own.

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
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from capscope.sanitize import sanitize_text, script_json

_FOLDER = Path(__file__).parents[1]
_FIRST = "theme.js"
"""Runs before anything is shown, on every page."""


def render(template: str, scripts: Sequence[str] = (), **values: Any) -> str:
    """Fill in a template; `scripts` are files of `assets`, run in this order at the page's end.

    A template that extends `base.html.j2` gets the policy, the styles and both colour schemes.
    """
    first, *others = (_asset(name) for name in (_FIRST, *scripts))
    ours = {"policy": _policy([first, *others]), "first": first, "scripts": others}
    return _environment().get_template(template).render(ours | values)


def _policy(scripts: Sequence[str]) -> Markup:
    """Forbid everything but the scripts given, styles, and pictures that are part of the page.

    Styles may stand at elements, for bars are drawn by them; with nothing to load, they can tell
    nobody anything.
    """
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return Markup(
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> Markup:
    """Read a file of our own, which goes into the page as it is."""
    return Markup((_FOLDER / "assets" / name).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = _asset
    environment.filters.update(data=_data, grouped="{:,}".format, share=share)
    return environment


def _finalized(value: Any) -> Any:
    return sanitize_text(value) if type(value) is str else value


def _data(value: Any) -> Markup:
    return Markup(script_json(value))


def share(value: float) -> str:
    """Write a share in per cent, never rounded to all or nothing.

    >>> share(0.801), share(0.9987), share(0.99999), share(1), share(0)
    ('80 %', '99.9 %', '>99.9 %', '100 %', '0 %')
    """
    per_cent = Decimal(100 * value)
    if 0 < per_cent < Decimal("0.1"):
        return "<0.1 %"
    if Decimal("99.9") < per_cent < 100:
        return ">99.9 %"
    whole = per_cent in (0, 100) or 1 <= per_cent <= 99
    # Halves go up, as scripts round, so that a share is the same wherever it is written.
    return f"{per_cent.quantize(Decimal(1 if whole else '0.1'), ROUND_HALF_UP)} %"
