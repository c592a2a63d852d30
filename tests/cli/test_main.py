"""The options of `capscope` itself."""

import os
import subprocess
import sys

import capscope as package
from support.processes import SECONDS

COMMAND = "import sys; from capscope.cli import main; sys.argv[0] = 'capscope'; main()"


def test_the_version_is_printed(capscope):
    done = capscope("--version")
    assert (done.code, done.out) == (0, f"capscope {package.__version__}\n")


def test_the_shell_completes_the_name_of_a_command(capscope):
    assert "--install-completion" in capscope("--help").out
    asked = {"_CAPSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": "capscope ev", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.stdout.split() == ["evaluate"]
