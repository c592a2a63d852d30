"""What a report says of a run, as plain values: the page shows them and works nothing out."""

from capscope.present.digest.build import digest_run
from capscope.present.digest.shape import Digest
from capscope.present.digest.states import Pictures

__all__ = ["Digest", "Pictures", "digest_run"]
