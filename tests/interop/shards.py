"""Checks tropical.interop.jax inside of jax.shard_map; `test_interop_jax` runs it in a process.

The devices are two threads of the CPU.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from tropical.interop.jax import closure, gemm, log_likelihood

FIRST = PartitionSpec("i")
ALL = PartitionSpec()
FUNCTIONS = {  # of a batch, which is sharded, and of what all devices share
    "maxplus": partial(gemm, semiring="maxplus"),
    "plustimes": partial(gemm, semiring="plustimes"),
    "logplus": partial(gemm, semiring="logplus"),
    "closure": lambda x, shared: closure(x) + shared,
    "log_likelihood": lambda x, shared: log_likelihood(shared[0], shared, x),
}


def main() -> None:
    mesh = Mesh(np.array(jax.devices()), ("i",))
    assert mesh.size == 2
    rng = np.random.default_rng(0)
    x, shared = (jnp.asarray(rng.random(shape), "float32") for shape in ((4, 3, 3), (3, 3)))
    split = partial(jax.shard_map, mesh=mesh, in_specs=(FIRST, ALL), out_specs=FIRST)

    def known(function, x, shared):
        def loss(x, shared):
            values = function(x, shared)
            return jnp.sin(values).sum(), values

        return jax.value_and_grad(loss, (0, 1), has_aux=True)(x, shared)

    def inside(function, x, shared):
        return jax.grad(lambda x: jnp.sin(function(x, shared)).sum())(x)

    for name, function in FUNCTIONS.items():
        want, got = (jax.jit(partial(known, f))(x, shared) for f in (function, split(function)))
        within = jax.jit(split(partial(inside, function)))(x, shared)
        pairs = zip(
            jax.tree.leaves((got, within)), jax.tree.leaves((want, want[1][0])), strict=True
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6, err_msg=name)


if __name__ == "__main__":
    main()
