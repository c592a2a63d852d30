"""Variants of built-in problems, named as `benchmarks/variants.py:FUNCTION`."""

from dataclasses import replace

from capscope import Problem
from capscope.problems import load_problem


def sampled_starts() -> Problem:
    """First responders without the resets: queries start at states seen before."""
    problem = load_problem("first-responders")
    return replace(problem, limits=replace(problem.limits, reset_every=None))
