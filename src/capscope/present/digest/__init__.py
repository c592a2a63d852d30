"""The content of a report as plain values; the page only lays them out."""

from capscope.present.digest.build import digest_run
from capscope.present.digest.shape import Digest
from capscope.present.digest.states import Pictures

__all__ = ["Digest", "Pictures", "digest_run"]
