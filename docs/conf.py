"""Sphinx configuration: Markdown by MyST, the reference from the code, no external resources."""

import sys
from pathlib import Path

from sphinx.ext.napoleon import Config, GoogleDocstring

import capscope

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "capscope"
author = "the capscope authors"
project_copyright = "the capscope authors"
release = version = capscope.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "command_line", "mathml"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_default_options = {"undoc-members": True}  # of the classes that show their members
autodoc_preserve_defaults = True
# NumPy arrays are shown by the name of their type.
autodoc_type_aliases = {name: name for name in ("Integers", "Floats", "Mask")}
python_maximum_signature_line_length = 80
# Docstrings use single backticks for code.
default_role = "code"
# Names in type hints that are documented elsewhere (a build must not need the network), or that
# are opaque values.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|pathlib|enum|random|threading|typing|numpy|pandas|gymnasium)\..*"),
    ("py:.*", r"(Path|Mapping|Sequence|Iterable|Iterator|Callable|Event|Any|StrEnum|NamedTuple)"),
    ("py:.*", r"Observation|Action|Snapshot"),  # whatever simulator and agent agree on
    ("py:.*", r"Integers|Floats|Mask"),
    (
        "py:.*",
        r"RunFacts|Lessons|Experience",
    ),  # what `Run` inherits; what a strategy passes on to its model
    ("py:.*", r"MakeProblem|Listener|Progress|ToolAgent|Phrasings"),  # aliases of functions
    ("py:.*", r"capscope\.\w+\.\w+\..*|capscope\.registry\.T"),
]

html_theme = "furo"
html_title = f"capscope {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"


def _prepare_docstring(app, what, name, obj, options, lines):
    """Format Args and Returns; omit what `NamedTuple` says about a field without a docstring."""
    if what == "attribute" and lines and lines[0].startswith("Alias for field number"):
        del lines[:]
    elif what in ("function", "method", "class", "exception"):
        lines[:] = GoogleDocstring(lines, Config(), app, what, name, obj, options).lines()


def setup(app):
    """Connect the hook."""
    app.connect("autodoc-process-docstring", _prepare_docstring)
