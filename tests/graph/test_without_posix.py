"""Graphs and their files on Windows, which lacks modules and functions of POSIX."""

import subprocess
import sys

import pytest

pytest.importorskip("networkx")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="plays Windows on Linux")

# What Windows lacks or refuses, as far as Linux can play it.
WINDOWS = """
import contextlib, os, pathlib, sys
import networkx, numpy as np
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("O_TMPFILE", "fchmod", "posix_fallocate", "sched_getaffinity", "sched_setaffinity"):
    delattr(os, name)
posix_open, posix_replace, posix_stat = os.open, os.replace, pathlib.Path.stat
class Stat:
    def __init__(self, found):
        self._found = found
    def __getattr__(self, name):
        if name == "st_blocks":
            raise AttributeError(name)
        return getattr(self._found, name)
def open_file(path, *options, **more):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return posix_open(path, *options, **more)
def replace(self, target):
    opened = []
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # another thread has closed it
            opened.append(os.readlink(f"/proc/self/fd/{fd}"))
    if str(self) in opened or str(target) in opened:
        raise PermissionError(13, "The process cannot access the file", str(target))
    posix_replace(self, target)
os.open, pathlib.Path.replace = open_file, replace
pathlib.Path.stat = lambda self, **options: Stat(posix_stat(self, **options))
sys.platform = "win32"
"""
USE = """
from tropical.graph import BlockFolder, Factor, closure, closure_blocks, factorize, write_lengths
graph = networkx.path_graph(7)
factor = factorize(graph)
factor.save("factor.npz")
factor.save("factor.npz")
lengths = Factor.load("factor.npz").lengths()
write_lengths(graph, "rows.npy")
write_lengths(graph, "rows.npy")
assert (np.load("rows.npy") == lengths).all()
a = np.lib.format.open_memmap("a.npy", "w+", "f8", (7, 7))
a[:] = networkx.to_numpy_array(graph, nonedge=np.inf)
folder = closure_blocks(BlockFolder.from_array("blocks", a, block=3))
closure_blocks(a, block=3)
assert (a == lengths).all() and (np.asarray(folder) == lengths).all()
assert not [name for name in os.listdir() if name.startswith(".") or name.endswith("tmp")]
"""


def test_files_of_graphs(tmp_path):
    subprocess.run([sys.executable, "-c", WINDOWS + USE], cwd=tmp_path, check=True)
