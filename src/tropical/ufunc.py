"""The products as generalized ufuncs of NumPy, by semiring: ``ufunc.maxplus(a, b)``.

Each is a `numpy.ufunc` with the signature of `numpy.matmul`, ``(n?,k),(k,m?)->(n?,m?)``. It takes
that function's keywords, such as ``out=``, ``axes=``, ``dtype=`` and ``casting=``, and leaves the
work to operands with an ``__array_ufunc__`` of their own. Results are those of `tropical.gemm` to
the bit, of the same dtypes.

Examples
--------
>>> import numpy as np
>>> from tropical import ufunc
>>> ufunc.minplus
<ufunc 'minplus'>
>>> ufunc.minplus.signature
'(n?,k),(k,m?)->(n?,m?)'
>>> legs = np.array([[0, 4, 9], [4, 0, 3], [9, 3, 0]])
>>> ufunc.minplus(legs, legs)
array([[0, 4, 7],
       [4, 0, 3],
       [7, 3, 0]])
>>> ufunc.minplus(legs, legs[0])
array([0, 4, 7])
"""

from typing import TYPE_CHECKING

from . import _core

globals().update(_core.make_ufuncs())  # one for each semiring in the core's list

if TYPE_CHECKING:
    import numpy as np

    def __getattr__(name: str) -> np.ufunc: ...
