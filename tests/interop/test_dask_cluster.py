"""Products and stars in a cluster of processes: killed workers, and memory that runs out."""

import os
import signal
import time

import numpy as np
import pytest
from support import SANITIZED, assert_same_bits, values

import tropical
from tropical import graph
from tropical.interop.dask import closure, gemm, shortest_paths

dask = pytest.importorskip("dask", reason="dask is optional")
da = pytest.importorskip("dask.array", reason="dask is optional")
distributed = pytest.importorskip("distributed", reason="distributed is optional")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(SANITIZED, reason="starts processes"),
    pytest.mark.filterwarnings("default"),  # Dask's own, of threads and sockets that it closes
]


def cluster(**options):
    """Two workers, processes of one thread each, that a nanny starts again."""
    defaults = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    # How long a worker waits for one that was killed: half a minute unless set.
    with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
        return distributed.LocalCluster(**{**defaults, "dashboard_address": ":0", **options})


@pytest.fixture(scope="module")
def client():
    with cluster() as local, distributed.Client(local) as client:
        yield client


def edges(n, seed=1):
    """Edges of whole numbers, whose sums are exact."""
    return (np.abs(values((n, n), "int32", seed) % 1000) + 1).astype("float32")


def test_the_bits_are_those_of_one_process(client):
    a, b = edges(60), edges(60, 2)
    lazy_a, lazy_b = da.from_array(a, chunks=17), da.from_array(b, chunks=13)
    values, index = dask.compute(*gemm(lazy_a, lazy_b, semiring="minplus", return_argmax=True))
    want = tropical.gemm(a, b, semiring="minplus", return_argmax=True)
    assert_same_bits(values, want[0])
    assert_same_bits(index, want[1])
    assert_same_bits(closure(lazy_a).persist().compute(), graph.closure(a))
    assert_same_bits(shortest_paths(lazy_a).compute(), graph.shortest_paths(a))


def test_errors_come_from_the_workers(client):
    a = edges(20)
    a[3, 15], a[15, 3] = 1, -2
    with pytest.raises(graph.DivergenceError, match="cycle improves"):
        closure(da.from_array(a, chunks=6)).compute()


@pytest.mark.parametrize("function", ["gemm", "closure"])
def test_a_worker_is_killed(client, function):
    """SIGKILL in the midst of the tasks: the nanny starts another worker, and the bits are same."""
    a = edges(640)
    lazy = da.from_array(a, chunks=80)
    if function == "gemm":
        task, want = gemm(lazy, lazy, semiring="minplus"), tropical.gemm(a, a, semiring="minplus")
    else:
        task, want = closure(lazy), graph.closure(a)
    pids = client.run(os.getpid)
    scheduler = client.cluster.scheduler
    future = client.compute(task)
    while sum(ts.state in ("memory", "released") for ts in [*scheduler.tasks.values()]) < 150:
        time.sleep(0.02)
    assert not future.done()
    victim = min(pids)
    os.kill(pids[victim], signal.SIGKILL)
    assert_same_bits(future.result(timeout=120), want)
    client.wait_for_workers(2, timeout=60)
    assert pids[victim] not in client.run(os.getpid).values()


def test_rows_of_a_factor_in_a_bag(client):
    """The factor goes to each worker once, and tasks of bags and futures use it there."""
    bag = pytest.importorskip("dask.bag")
    a = edges(50)
    a[values(a.shape, "int32", 3) % 4 != 0] = np.inf
    factor = graph.factorize(a)
    sent = client.scatter(factor, broadcast=True)
    assert all(sent.key in keys for keys in client.has_what().values())

    def rows_of(vertices, factor):
        return [row.copy() for _, rows in factor.rows(list(vertices), 3) for row in rows]

    want = graph.shortest_paths(a)
    vertices = bag.from_sequence(range(len(a)), npartitions=7)
    assert_same_bits(np.stack(vertices.map_partitions(rows_of, sent).compute()), want)
    parts = np.array_split(np.arange(len(a)), 5)
    futures = client.map(rows_of, parts, factor=sent)
    assert_same_bits(np.stack([row for rows in client.gather(futures) for row in rows]), want)


def test_a_limit_of_memory_makes_workers_spill():
    """A star of 3.7 MB where workers hold 1.2 MB each: chunks go to the disk and come back."""
    a = edges(960)
    small = {
        "distributed.worker.memory.target": 0.003,  # of what the nanny may let a worker have
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
    }
    with (
        dask.config.set(small),
        cluster(memory_limit="400 MB") as local,
        distributed.Client(local) as client,
    ):
        star = closure(da.from_array(a, chunks=192)).persist()
        distributed.wait(star)
        spilled = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
        assert sum(spilled.values()) > 500_000
        assert_same_bits(star.compute(), graph.closure(a))
