"""Sizes of chunks for products and closures."""

from __future__ import annotations

from math import ceil, isqrt

import numpy as np
from numpy.typing import DTypeLike

from tropical.extras import require
