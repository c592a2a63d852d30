"""Turn templates and scripts into one HTML file that loads nothing and runs only our own scripts.

What an agent said and what a problem calls its objects may be hostile, so there are three barriers.
Unprintable characters are replaced by escape sequences. Every value is escaped: by the templates if
it is text, and as JSON without angle brackets if it is read by a script, which inserts it only as
text. And a content security policy allows only the scripts whose hashes it lists.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from capscope.insight.first_screen import FirstScreen
from capscope.insight.first_screen.wording import MOST_DECLINED, MOST_ROWS, MOST_WARNINGS
from capscope.logic import Phrasing
from capscope.sanitize import sanitize_text, script_json
from capscope.wording import share

_FOLDER = Path(__file__).parents[1]
_FIRST = "theme.js"
"""Runs before anything is shown, on every page."""
_FORMAL = Markup('<span class="term">{}</span>')
_SAID = Markup('<span class="term said" title="{}">{}</span>')
_FROM_SERVER = Markup("; connect-src 'self'; frame-src 'self'")


def render(
    template: str,
    scripts: Sequence[str] = (),
    *,
    served: bool = False,
    folder: Path = _FOLDER,
    **values: Any,
) -> str:
    """Fill in a template; `scripts` are files in `assets`, run in this order at the end.

    A template that extends `base.html.j2` has the policy, the styles and both color schemes. A page
    that is `served` may ask its own server for data and for pages in frames. The `templates` and
    `assets` of another package are in its `folder`.
    """
    first, *others = (_asset(folder, name) for name in (_FIRST, *scripts))
    policy = _policy([first, *others]) + (_FROM_SERVER if served else "")
    ours = {"policy": policy, "first": first, "scripts": others}
    return _environment(folder).get_template(template).render(ours | values)


def screen_html(screen: FirstScreen) -> str:
    """Return a first screen as HTML for a notebook, which has styles of its own."""
    template = _environment().get_template("screen.html.j2")
    return str(template.module.screen(screen, {}))  # type: ignore[attr-defined]


def _policy(scripts: Sequence[str]) -> Markup:
    """Forbid everything but the given scripts, styles, and pictures embedded in the page.

    Inline styles are allowed because bars are drawn by them; since nothing can be loaded, they
    cannot leak anything.
    """
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    return Markup(
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(folder: Path, name: str) -> Markup:
    """Read a file that comes with a package, which is trusted."""
    own = folder / "assets" / name
    return Markup((own if own.exists() else _FOLDER / "assets" / name).read_text(encoding="utf-8"))


@cache
def _environment(folder: Path = _FOLDER) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder / "templates", _FOLDER / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    most = {"MOST_WARNINGS": MOST_WARNINGS, "MOST_ROWS": MOST_ROWS, "MOST_DECLINED": MOST_DECLINED}
    environment.globals.update(asset=partial(_asset, folder), **most)
    environment.filters.update(data=_data, grouped="{:,}".format, share=share, percent=percent)
    return environment


def _finalized(value: Any) -> Any:
    return sanitize_text(value) if type(value) is str else value


def _data(value: Any) -> Markup:
    return Markup(script_json(value))


def percent(value: float) -> str:
    """Format a fraction as a whole number of percent that is 0 or 100 only if it is exactly that.

    >>> percent(0.801), percent(0.9987), percent(0.001), percent(1)
    ('80', '99', '1', '100')
    """
    whole = round(100 * value)
    return str(whole if value in (0, 1) else min(max(whole, 1), 99))


def term_renderer(phrasing: Phrasing) -> Callable[[str], Markup]:
    """Return a function that renders a literal, an intent, or any other name as HTML.

    >>> term_renderer(Phrasing({"on": ("{0} is on {1}", "")}))("not on(a,b)")
    Markup('<span class="term said" title="not on(a,b)">a is not on b</span>')
    """

    def term(text: str) -> Markup:
        shown = sanitize_text(text)
        said = sanitize_text(phrasing.literal(shown))
        return _FORMAL.format(_breakable(shown)) if said == shown else _SAID.format(shown, said)

    return term


def _breakable(text: str) -> Markup:
    """Let a line break after a parenthesis or a comma rather than anywhere."""
    return Markup("<wbr>").join(re.split(r"(?<=[(,])", text))
