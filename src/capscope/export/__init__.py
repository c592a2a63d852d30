"""Learned models and runs for other tools."""

from capscope.export.formats import FORMATS, ExportFormat, ExportOption, export_formats

__all__ = ["FORMATS", "ExportFormat", "ExportOption", "export_formats"]
