"""What the tests call that `capscope repro` writes: executions of an agent from one position."""

from capscope.repro.check import RequestPath, assert_achieved, assert_not_caused

__all__ = ["RequestPath", "assert_achieved", "assert_not_caused"]
