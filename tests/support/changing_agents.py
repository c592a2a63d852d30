"""Agents that change while they are being assessed."""

import random

from support.toy_worlds import Presser, Reading, Scripted


class Failing(Presser):
    """Stops at once after some attempts: with the given rate, and if asked for `only`."""

    def __init__(self, after, rate=1.0, only=None):
        self.left = after
        self.rate = rate
        self.only = only

    def begin(self, intent, seed):
        self.left -= 1
        stops = self.left < 0 and random.Random(seed).random() < self.rate
        concerned = self.only is None or str(intent) == self.only
        return Reading(Scripted()) if stops and concerned else super().begin(intent, seed)
