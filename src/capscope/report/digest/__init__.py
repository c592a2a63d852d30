"""What a report says of a run, as plain values: the page shows them and works nothing out."""

from capscope.report.digest.shape import Digest
from capscope.report.digest.states import Pictures
from capscope.report.digest.whole import digest_run

__all__ = ["Digest", "Pictures", "digest_run"]
