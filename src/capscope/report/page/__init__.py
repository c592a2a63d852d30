"""Pages as single HTML files; `rendering` describes what makes them safe."""

from capscope.report.page.rendering import render
from capscope.report.page.report import report_page, write_report

__all__ = ["render", "report_page", "write_report"]
