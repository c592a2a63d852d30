"""Assertions for tests of your own agent: what it can do, its side effects, what it lost.

    from capscope.testing import assert_capability

    def test_it_stacks(model):
        assert_capability(model, "on(a,b)", when="holding(a)", at_least=0.8)

An assertion passes if the evidence supports it. It fails if the evidence is against it and also if
there is too little: a test that passes because nothing was tried is worth nothing. The message says
which of the two it is, and what to do.
"""

from capscope.testing.assertions import assert_capability, assert_no_loss, assert_no_side_effect
from capscope.testing.hazard_assertion import assert_never

__all__ = ["assert_capability", "assert_never", "assert_no_loss", "assert_no_side_effect"]
