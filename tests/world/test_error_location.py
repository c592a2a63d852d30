import json

import pytest

from capscope.symbolic import Intent, Vocabulary
from capscope.world.error_location import error_location


def caught(function):
    with pytest.raises(Exception, match=r"\w") as error:
        function()
    return error.value


def test_the_last_line_of_the_users_own_code_is_named():
    """What the library does with it below that is not where to look."""

    def agent():
        return json.loads("{")

    here = f" (test_error_location.py, line {agent.__code__.co_firstlineno + 1})"
    assert error_location(caught(agent)) == here


def test_a_mistake_that_shows_within_capscope_is_told_where_the_user_called():
    def agent():
        return Intent.parse("on(")

    assert error_location(caught(agent)).startswith(" (test_error_location.py, line")


def test_an_exception_of_capscope_alone_has_no_place():
    """As when an agent of capscope's own raises: here it is raised by nobody's code but ours."""
    error = caught(lambda: Vocabulary.of_atoms(["a"]).state(["b"]))
    inside = error.__traceback__
    while "capscope" not in inside.tb_frame.f_code.co_filename:
        inside = inside.tb_next
    assert error_location(error.with_traceback(inside)) == ""
    assert error_location(error.with_traceback(None)) == ""


def test_code_without_a_file_is_named_as_python_names_it():
    names = {}
    exec("def agent():\n    return 1 / 0", names)
    assert error_location(caught(names["agent"])) == " (<string>, line 2)"
