import pytest

from capscope.world.positions import name_of, named, without_name


def test_snapshots_of_one_position_have_one_name_and_remain_what_they_were():
    there, back = named(b"left, right", b"at 0"), named(b"up, down", b"at 0")
    assert name_of(there) == name_of(back) != name_of(named(b"left", b"at -1"))
    assert (without_name(there), without_name(back)) == (b"left, right", b"up, down")


@pytest.mark.parametrize(
    "snapshot", [b"", b"at 0", b"position 12, 7", b"position " + b"x" * 33, b"position " * 9]
)
def test_a_snapshot_without_a_name_is_its_own_name_whatever_it_looks_like(snapshot):
    assert name_of(snapshot) == without_name(snapshot) == snapshot
    assert without_name(named(snapshot, b"here")) == snapshot


def test_a_snapshot_may_be_empty_or_hold_any_bytes():
    everything = bytes(range(256))
    assert without_name(named(everything, everything)) == everything
    assert name_of(named(b"", b"here")) == name_of(named(everything, b"here"))
