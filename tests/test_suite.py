"""Rules for the tests themselves: limits for other processes, and distinct file names."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]


def calls_without_a_limit(text):
    """Yield the lines that wait for a child process, or leave one running, without a limit."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            limited = any(keyword.arg == "timeout" for keyword in node.keywords)
            waits = called.startswith("subprocess.") or called.endswith(".communicate")
            if called.endswith("Popen") or (waits and not limited):
                yield node.lineno


def test_no_test_waits_for_a_child_process_without_a_limit():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("tests", "worlds/tests", "viewer/tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in calls_without_a_limit(path.read_text(encoding="utf-8"))
        if path.name != "processes.py"
    ]
    assert not wrong, f"add timeout=, or use support.processes.started: {', '.join(wrong)}"


def test_the_check_sees_calls_without_a_limit():
    assert list(calls_without_a_limit("subprocess.run(x, timeout=3)\nstarted(x)")) == []
    for call in ("subprocess.run(x)", "subprocess.Popen(x, timeout=3)", "child.communicate()"):
        assert list(calls_without_a_limit(call)) == [1]


def test_each_test_file_has_a_name_of_its_own():
    # pytest imports each by its bare name, and refuses the second.
    every = [
        path.name
        for one in ("tests", "worlds", "viewer")
        for path in (ROOT / one).rglob("test_*.py")
    ]
    assert sorted(every) == sorted(set(every))
