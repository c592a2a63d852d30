"""Names for the array types that the tests take and return."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bits: TypeAlias = NDArray[np.uint8]
Mask: TypeAlias = NDArray[np.bool_]
