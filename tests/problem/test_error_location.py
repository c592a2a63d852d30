import json

import pytest

from capscope.logic import Intent, Vocabulary
from capscope.problem.attempt import error_location


def caught(function):
    with pytest.raises(Exception, match=r"\w") as error:
        function()
    return error.value


def test_the_last_line_of_the_users_own_code_is_named():
    """Not the line in the library that raised."""

    def agent():
        return json.loads("{")

    here = f" (test_error_location.py, line {agent.__code__.co_firstlineno + 1})"
    assert error_location(caught(agent)) == here


def test_an_error_raised_inside_capscope_is_located_at_the_users_call():
    def agent():
        return Intent.parse("on(")

    assert error_location(caught(agent)).startswith(" (test_error_location.py, line")


def test_an_exception_without_user_code_has_no_location():
    """As if an agent of capscope had raised it: the frames of this test are removed."""
    error = caught(lambda: Vocabulary.of_atoms(["a"]).state(["b"]))
    inside = error.__traceback__
    while inside.tb_frame.f_globals is globals():
        inside = inside.tb_next
    assert error_location(error.with_traceback(inside)) == ""
    assert error_location(error.with_traceback(None)) == ""


def test_code_without_a_file_has_the_name_that_python_gives_it():
    names = {}
    exec("def agent():\n    return 1 / 0", names)
    assert error_location(caught(names["agent"])) == " (<string>, line 2)"
