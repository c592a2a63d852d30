"""What a notebook shows of a run and of its capabilities; names are always escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from capscope.insight.first_screen import run_screen_lines
from capscope.insight.rule_wording import model_lines
from capscope.logic import Intent
from capscope.report.page.rendering import screen_html
from capscope.report.text import capability_lines
from capscope.wording import PreformattedText

if TYPE_CHECKING:
    from capscope.run import Run


def shown_capabilities(run: Run, intents: Iterable[Intent] | None = None) -> PreformattedText:
    """Describe capabilities, or show the first screen of a run."""
    if intents is None:
        return PreformattedText("\n".join(run_screen_lines(run)))
    texts = ("\n".join(capability_lines(run, intent)) for intent in intents)
    return PreformattedText("\n\n".join(texts))


def shown_rules(run: Run) -> PreformattedText:
    """Describe all rules of the model."""
    return PreformattedText("\n".join(model_lines(run.model, run.path, every=True)))


def run_html(run: Run) -> str:
    """Return the first screen of a run as HTML."""
    return screen_html(run.first_screen)
