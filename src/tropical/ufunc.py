"""The products as ufuncs of NumPy, by semiring: of matrices and of elements.

``ufunc.maxplus(a, b)`` multiplies matrices. It is a `numpy.ufunc` with the signature of
`numpy.matmul`, ``(n?,k),(k,m?)->(n?,m?)``, and takes the keywords of that function, such as
``out=``, ``axes=``, ``dtype=`` and ``casting=``. Bits and dtypes are those of `tropical.gemm`,
without float16 and bfloat16.

``ufunc.maxplus_multiply(a, b)`` multiplies elements: ``a (x) b``. It broadcasts as every ufunc of
elements does, and has ``where=``, ``reduce``, ``accumulate``, ``outer`` and ``at``. Each result is
the one that `tropical.gemm` computes from a 1 x 1 matrix `a` and a 1 x 1 matrix `b`; only for
negative products over maxtimes `gemm` gives 0, the semiring's zero.

An operand with an ``__array_ufunc__`` of its own handles the call itself.

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
>>> ufunc.minplus_multiply(legs, 1)
array([[ 1,  5, 10],
       [ 5,  1,  4],
       [10,  4,  1]])
"""

from typing import TYPE_CHECKING

from . import _core

globals().update(_core.make_ufuncs())  # two for each semiring in the core's list

if TYPE_CHECKING:  # their names, as no type checker reads C++
    import numpy as np

    plustimes: np.ufunc
    plustimes_multiply: np.ufunc
    maxplus: np.ufunc
    maxplus_multiply: np.ufunc
    minplus: np.ufunc
    minplus_multiply: np.ufunc
    maxtimes: np.ufunc
    maxtimes_multiply: np.ufunc
    mintimes: np.ufunc
    mintimes_multiply: np.ufunc
    maxmin: np.ufunc
    maxmin_multiply: np.ufunc
    minmax: np.ufunc
    minmax_multiply: np.ufunc
    orand: np.ufunc
    orand_multiply: np.ufunc
    logplus: np.ufunc
    logplus_multiply: np.ufunc
