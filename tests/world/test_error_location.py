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


def test_an_error_raised_inside_capscope_is_located_at_the_users_call():
    def agent():
        return Intent.parse("on(")

    assert error_location(caught(agent)).startswith(" (test_error_location.py, line")


def test_an_exception_without_user_code_has_no_location():
    """As when an agent of capscope's own raises: here it is raised by nobody's code but ours."""
    error = caught(lambda: Vocabulary.of_atoms(["a"]).state(["b"]))
    inside = error.__traceback__
    while "capscope" not in inside.tb_frame.f_code.co_filename:
        inside = inside.tb_next
    assert error_location(error.with_traceback(inside)) == ""
    assert error_location(error.with_traceback(None)) == ""


def test_code_without_a_file_has_the_name_that_python_gives_it():
    names = {}
    exec("def agent():\n    return 1 / 0", names)
    assert error_location(caught(names["agent"])) == " (<string>, line 2)"
