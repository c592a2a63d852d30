"""The same run whatever instructions the processor has: sums differ in their last digits."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
from capscope import Budget, assess
run = assess("blocksworld", budget=Budget(executions=250))
table = run.executions
print([(table.states[s], c, table.states[t]) for s, c, t in
       zip(table.before, table.capability, table.after)])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="NumPy may use another library there")
def test_a_run_does_not_depend_on_the_kernels_of_the_linear_algebra():
    def executions(kernels):
        environment = {**os.environ, "OPENBLAS_CORETYPE": kernels}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            check=True,
            timeout=240,
        )
        return done.stdout

    assert executions("Prescott") == executions("Haswell")
