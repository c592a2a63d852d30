from capscope.problem.positions import SavedPosition, save_position
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
