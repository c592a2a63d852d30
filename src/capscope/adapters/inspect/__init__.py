"""Evaluations with inspect_ai: compare two eval logs, and stop an evaluation when it is decided.

    from capscope.adapters.inspect import StopWhenDecided, compare_logs

    print(compare_logs("logs/v1.eval", "logs/v2.eval"))
    task = Task(..., early_stopping=StopWhenDecided(at_least=0.8))

The unit is a sample: its epochs are averaged, because they repeat one question.
"""

from capscope.adapters.inspect.comparison import LogComparison, ScoreChange, compare_logs
from capscope.adapters.inspect.early_stopping import StopWhenDecided

__all__ = ["LogComparison", "ScoreChange", "StopWhenDecided", "compare_logs"]
