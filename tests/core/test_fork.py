"""After os.fork() the child computes: from a cold or warm parent, or one inside gemm elsewhere."""

import os

import pytest
from support import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

# Every entry path, checked against an answer known in closed form.
CHILD = """
import os, signal, sys, threading, time, warnings
import numpy as np, tropical
warnings.simplefilter("ignore")  # of forking with threads, which is the point

def product(size=300, **how):
    a = np.arange(size * size, dtype=np.float32).reshape(size, size) % 7
    out = tropical.gemm(a, a.T, **how)
    got = out[0] if isinstance(out, tuple) else out
    assert got.shape == (size, size) and (got == got.T).all() and got.max() == 12 and got.min() >= 6

def every_path(workspace):
    product()
    product(threads=2)
    product(threads=3, kernel="packed")
    product(threads=2, kernel="direct")
    product(threads=2, kernel="tiled", size=90)
    product(threads=2, return_argmax=True)
    product(threads=2, workspace=tropical.GemmWorkspace())
    batch = np.ones((64, 16, 16))
    assert (tropical.gemm(batch, batch, threads=2) == 2).all()
    workspace.reserve(500, 500, 500, threads=2)
    product(threads=2, workspace=workspace)
    tropical.explain(500, 500, 500)
    tropical.set_num_threads(2)
    tropical.config.config()
    tropical._core.ceiling("maxplus", "float32", 10)

def in_child(work, *arguments):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # a hang ends as SIGALRM
        try:
            work(*arguments)
        except BaseException as error:
            print(f"in the child: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return pid

def wait(*pids):
    for pid in pids:
        status = os.waitpid(pid, 0)[1]
        assert status == 0, f"the child ended with status {status:#x}"
"""


def run(code):
    run_python(CHILD + code, timeout=120)


def test_from_a_cold_parent():
    run("""
workspace = tropical.GemmWorkspace()
wait(in_child(every_path, workspace))
every_path(workspace)
""")


def test_from_a_warm_parent():
    run("""
workspace = tropical.GemmWorkspace()
every_path(workspace)
wait(*[in_child(every_path, workspace) for _ in range(2)])
every_path(workspace)
""")


def test_grandchildren():
    run("""
workspace = tropical.GemmWorkspace()
product(threads=2, workspace=workspace)
def child():
    product(threads=2, workspace=workspace)
    wait(in_child(every_path, workspace))
    every_path(workspace)
wait(in_child(child))
""")


@pytest.mark.parametrize(
    "how", ["threads=2", "threads=2, workspace=busy", "threads=1", "threads=2, size=32"]
)
def test_while_another_thread_is_inside(how):
    """At whatever moment of the other's call: locks held, workers mid-task, buffers in use."""
    run(f"""
busy, workspace, stop = tropical.GemmWorkspace(), tropical.GemmWorkspace(), threading.Event()
def forever():
    while not stop.is_set():
        product({how})
thread = threading.Thread(target=forever)
thread.start()
for i in range(8):
    time.sleep(0.003 * i)
    wait(in_child(every_path, workspace))
stop.set()
thread.join()
every_path(workspace)
""")


def test_with_a_workspace_that_was_busy():
    """Its user is not in the child: refused as in use, or right; never a hang."""
    run("""
busy, stop = tropical.GemmWorkspace(), threading.Event()
def forever():
    while not stop.is_set():
        product(threads=2, workspace=busy)
def child():
    try:
        product(threads=2, workspace=busy)
    except RuntimeError:
        pass
    product(threads=2)
thread = threading.Thread(target=forever)
thread.start()
for _ in range(10):
    wait(in_child(child))
stop.set()
thread.join()
""")


def test_a_pool_of_processes():
    run("""
import multiprocessing
product(threads=2)
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(product, [200, 300, 64, 8])
product(threads=2)
""")


def test_a_factor_that_another_thread_prepares():
    """What a factor keeps from its first call on is made by the child anew."""
    pytest.importorskip("networkx", reason="for the graph")
    run("""
import networkx as nx
from tropical.graph import factorize
grid = nx.grid_2d_graph(150, 150)
for prepare in (lambda f: f.path(0, 22499), lambda f: f.lengths([0])):
    factor, children, right = factorize(grid), [], []
    thread = threading.Thread(target=lambda: right.append(prepare(factor)))
    thread.start()
    while thread.is_alive() and len(children) < 20:
        children.append(in_child(lambda: prepare(factor)))
    thread.join()
    wait(*children)
    assert np.array_equal(prepare(factor), right[0])
""")
