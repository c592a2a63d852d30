"""Pages for people, one HTML file each: see `rendering` for what makes them safe."""

from capscope.present.page.rendering import render
from capscope.present.page.report import report_page

__all__ = ["render", "report_page"]
