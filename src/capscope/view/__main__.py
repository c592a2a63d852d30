"""`python -m capscope.view DIR` serves a run until standard input ends; for `companion`."""

import sys
from pathlib import Path

from capscope.view.companion import serve_until_input_ends

serve_until_input_ends(Path(sys.argv[1]))
