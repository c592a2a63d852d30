"""The content of a report as plain values; the page only lays them out."""

from capscope.report.digest.build import digest_run
from capscope.report.digest.states import Pictures

__all__ = ["Pictures", "digest_run"]
