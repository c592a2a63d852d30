"""Learned models and runs for other tools."""

from capscope.export.formats import FORMATS, ExportFormat, ExportOption

__all__ = ["FORMATS", "ExportFormat", "ExportOption"]
