import pytest

from capscope.world.positions import SavedPosition, save_position
from support.toy_worlds import Board

NAME = bytes(range(16))


class NamedBoard(Board):
    """Knows how it got where it is, and names its position."""

    path = b""

    def step(self, action):
        self.path += action.encode()
        return super().step(action)

    def snapshot(self):
        return self.path

    def position_name(self):
        return bytes([self.lit])


def test_a_position_has_the_name_that_the_simulator_gives_it():
    saved = []
    for actions in ("ab", "ba", "a"):
        board = NamedBoard()
        board.reset(0)
        for action in actions:
            board.step(action)
        saved.append(save_position(board))
    there, back, elsewhere = saved
    assert there.name == back.name != elsewhere.name
    assert [position.snapshot for position in saved] == [b"ab", b"ba", b"a"]


def test_a_simulator_that_names_no_position_is_identified_by_its_snapshot():
    class SometimesNamed(NamedBoard):
        def position_name(self):
            return None

    for board in (Board(), SometimesNamed()):
        board.reset(0)
        board.step("b")
        assert save_position(board) == SavedPosition(board.snapshot(), board.snapshot())


@pytest.mark.parametrize(
    "snapshot", [b"", b"at 0", b"position 12, 7", b"position " + b"x" * 33, b"position " * 9]
)
def test_a_snapshot_of_format_1_without_a_name_is_its_own_name_whatever_it_looks_like(snapshot):
    assert SavedPosition.from_format_1(snapshot) == SavedPosition.unnamed(snapshot)
    named = b"position " + NAME.hex().encode() + b" " + snapshot
    assert SavedPosition.from_format_1(named) == SavedPosition(snapshot, NAME)


def test_a_named_snapshot_of_format_1_may_hold_any_bytes():
    everything = bytes(range(256))
    stored = b"position " + NAME.hex().encode() + b" " + everything
    assert SavedPosition.from_format_1(stored) == SavedPosition(everything, NAME)
