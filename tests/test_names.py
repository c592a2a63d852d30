"""One name, one thing: no two classes of the package have the same name."""

import ast
from collections import defaultdict
from pathlib import Path

import capscope

ROOT = Path(capscope.__file__).parent


def classes():
    """Yield the name of every class, private and nested ones included, and where it is."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_no_class_name_is_used_twice():
    places = defaultdict(list)
    for name, place in classes():
        places[name].append(place)
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(found)}" for name, found in twice.items())


def test_the_check_sees_private_classes():
    assert any(name.startswith("_") for name, _ in classes())
