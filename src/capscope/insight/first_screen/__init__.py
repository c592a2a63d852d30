"""The first screen of a run, as values and as lines: what every front end shows first."""

from capscope.insight.first_screen.screen import FirstScreen, first_screen
from capscope.insight.first_screen.wording import run_screen_lines, screen_lines

__all__ = ["FirstScreen", "first_screen", "run_screen_lines", "screen_lines"]
