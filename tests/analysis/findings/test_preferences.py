import pytest

from capscope.analysis.findings.preferences import _orders
from capscope.symbolic import Literal

A, B, C, D, E = ((Literal.parse(name),) for name in "abcde")


@pytest.mark.parametrize(
    ("relation", "orders"),
    [
        ({(A, B)}, [((A,), (B,))]),
        ({(B, A), (B, C), (A, C)}, [((B,), (A,), (C,))]),
        ({(C, A), (C, B)}, [((C,), (A, B))]),
        ({(A, B), (C, D)}, [((A,), (B,)), ((C,), (D,))]),
        ({(A, B), (B, C), (C, A)}, [((A, B, C),)]),
    ],
    ids=["two", "chain", "fork", "apart", "circle"],
)
def test_a_relation_becomes_orders(relation, orders):
    assert _orders(relation) == orders
