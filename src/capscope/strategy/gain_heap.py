"""The buckets of pairs by the gain of one more draw, the highest first.

Gains fall as answers come in, mostly without anybody looking. So an entry has the gain that its
bucket had when it was offered, and is corrected when it comes to the top.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator

from capscope.strategy.belief import Bucket


class GainHeap:
    """A heap of buckets; `gain` returns the present gain of one, 0 if it is empty."""

    def __init__(self, gain: Callable[[Bucket], float]) -> None:
        self._gain = gain
        self._heap: list[tuple[float, int, Bucket]] = []
        self._offered: dict[Bucket, float] = {}  # the highest gain in the heap for each bucket
        self._serial = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._heap)

    def clear(self) -> None:
        """Remove all buckets."""
        self._heap, self._offered = [], {}

    def offer(self, bucket: Bucket) -> None:
        """Add a bucket if its gain is higher than it is in the heap."""
        gain = self._gain(bucket)
        if gain > self._offered.get(bucket, 0.0):
            self._offered[bucket] = gain
            heapq.heappush(self._heap, (-gain, next(self._serial), bucket))

    def settle_top(self) -> None:
        """Correct the heap until the gain of its first bucket is current.

        Done as answers come in, not when targets are requested: a resumed run replays only the
        answers and must find the same targets.
        """
        heap = self._heap
        while heap:
            offered, serial, bucket = heap[0]
            gain = self._gain(bucket)
            if gain >= -offered:
                return
            if gain > 0.0:
                self._offered[bucket] = gain
                heapq.heapreplace(heap, (-gain, serial, bucket))
            else:
                self._offered.pop(bucket, None)
                heapq.heappop(heap)

    @property
    def highest(self) -> float:
        """The gain of the first bucket; 0 if there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def by_gain(self) -> Iterator[tuple[Bucket, float]]:
        """Yield each bucket once, with its present gain; the heap stays as it is."""
        heap = self._heap.copy()
        passed = set()
        while heap:
            offered, serial, bucket = heapq.heappop(heap)
            gain = self._gain(bucket)
            if gain <= 0.0 or bucket in passed:
                continue
            if gain < -offered:
                heapq.heappush(heap, (-gain, serial, bucket))
                continue
            passed.add(bucket)
            yield bucket, gain
