"""Calls of every public function with odd arguments: `python tests/fuzz/calls.py REPORT 60 7` makes
calls from number 7 on, for 60 seconds; REPORT gets the number of each before it is made, and what
is wrong with it. A number means the same call every time.
"""

import contextlib
import ctypes
import dataclasses
import faulthandler
import importlib
import inspect
import io
import itertools
import os
import random
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings

import numpy as np
from odd import KINDS, OddError, sparse, square

import tropical
from tropical import _core
from tropical.extras import NotInstalledError

MODULES = (
    *("tropical", "tropical.autograd", "tropical.config", "tropical.graph"),
    *("tropical.interop.dlpack", "tropical.interop.opt_einsum", "tropical.interop.pandas"),
    *("tropical.memory", "tropical.nn", "tropical.optim", "tropical.semirings"),
    *("tropical.sequence", "tropical.spectral", "tropical.tuning", "tropical.ufunc"),
)
SETTERS = {"set_num_threads", "set_memory_mode", "seed", "use", "set_options", "__enter__"}
# Handle is made by `register_hook`, Summand is an array of NumPy, and the methods are what authors
# of optimizers define.
LEFT_OUT = {"Handle", "Summand", "check", "coefficients", "update"}
ALLOWED = (TypeError, ValueError, OverflowError, MemoryError, NotInstalledError, OddError)
# What NumPy and SciPy raise for objects that they do not implement, what repr raises, and what
# numbers of Python raise that NumPy's object arrays hold.
PASSED = {
    NotImplementedError: "",
    RecursionError: "nested 10,000|contains itself|frame",
    AttributeError: "Liar|masked constant",
    ArithmeticError: "coo|csr|csc|bsr|dtype O|big integers|Decimal|Fraction|None in it|lists in it",
}
LIBRARY = ctypes.CDLL(None)
SECONDS = 60  # of one call
MEMORY = 6 << 30

# Values that pass, by the name of the parameter, so that odd ones get far; any other is SQUARE.
TENSOR = lambda: tropical.autograd.Tensor(np.ones((3, 3)), requires_grad=True)  # noqa: E731
GOOD = {
    **dict.fromkeys(("semiring",), lambda: "minplus"),
    **dict.fromkeys(("m", "n", "k", "steps", "threads", "inputs_", "channels", "rows"), lambda: 3),
    **dict.fromkeys(("i", "j", "axis", "axis1", "number", "name_"), lambda: 0),
    **dict.fromkeys(("stride", "filters", "every", "axis2", "length", "outputs"), lambda: 1),
    **dict.fromkeys(("p", "lr", "rate", "burst", "latency", "max_norm"), lambda: 0.5),
    **dict.fromkeys(("parameters", "tensors", "arrays_", "modules"), lambda: [TENSOR()]),
    **dict.fromkeys(("predecessors",), lambda: np.full((3, 3), -9999)),
    **dict.fromkeys(("log_initial", "x0", "running_mean", "running_var"), lambda: np.ones(3)),
    **dict.fromkeys(("function", "then", "factor", "call"), lambda: lambda x, *rest: x * 1.0),
    **dict.fromkeys(("output", "x", "data", "logits"), TENSOR),
    **dict.fromkeys(("f", "g", "arrival", "service", "times"), lambda: np.arange(4.0)),
    **dict.fromkeys(("index", "targets", "indices"), lambda: np.array([0, 1, 2])),
    **dict.fromkeys(("dtype",), lambda: "float32"),
    **dict.fromkeys(("shape",), lambda: (3, 3)),
    **dict.fromkeys(("path",), lambda: "file.npz"),
    **dict.fromkeys(("arrays",), lambda: {"a": np.zeros(3)}),
    **dict.fromkeys(("settings",), lambda: {"panel": 1 << 20}),
    **dict.fromkeys(("rng",), lambda: np.random.default_rng(0)),
    **dict.fromkeys(("optimizer",), lambda: tropical.optim.SGD([TENSOR()], lr=0.1)),
    **dict.fromkeys(("out",), lambda: np.zeros((3, 3))),
    **dict.fromkeys(("mode",), lambda: "pool"),
    **dict.fromkeys(("w",), lambda: np.array(square(), np.float64)),
    **dict.fromkeys(("graph", "G"), lambda: sparse()),
    **dict.fromkeys(("subscripts",), lambda: "ij,jk->ik"),
    **dict.fromkeys(("source", "target"), lambda: "a"),
    **dict.fromkeys(("workspace",), tropical.GemmWorkspace),
    **dict.fromkeys(("file",), io.StringIO),
}


def public(module):
    """Return the public names of a module that it defines itself, in order."""
    names = getattr(module, "__all__", None) or [
        name
        for name in dir(module)
        if not name.startswith("_")
        and (
            isinstance(getattr(module, name), np.ufunc)
            or getattr(getattr(module, name), "__module__", "") == module.__name__
        )
    ]
    return [name for name in names if callable(getattr(module, name))]


def methods(cls):
    """Return the public methods of a class, and calls of its objects."""
    return [
        name
        for name in dir(cls)
        if (not name.startswith("_") or name == "__call__")
        and name not in LEFT_OUT
        and callable(inspect.getattr_static(cls, name, None))
    ]


def targets():
    """Return {name: (function, a function that makes its object, or None)}."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in public(module):
            made = getattr(module, name)
            if name in LEFT_OUT:
                continue
            if isinstance(made, type):
                if issubclass(made, (Exception, tuple)) or dataclasses.is_dataclass(made):
                    continue  # errors and results
                for method in methods(made):
                    found[f"{module.__name__}.{name}.{method}"] = (getattr(made, method), made)
            found[f"{module.__name__}.{name}"] = (made, None)
    return found


def signature(function):
    """Return (parameter, kind) of a function; of one without a signature, from its docstring."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        listed = re.match(r"\w+\(([^)]*)\)", function.__doc__ or "")
        names = re.findall(r"(\w+): [\w.]+(?: = ([^,]+))?", listed[1]) if listed else []
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        empty = inspect.Parameter.empty
        return [inspect.Parameter(name, kind, default=default or empty) for name, default in names]


def good(name):
    return GOOD.get(name, square)()


def made(cls):
    """Return an object of a class, made from good arguments."""
    required = [
        p
        for p in signature(cls)
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return cls(*(3 if p.name in ("inputs", "outputs") else good(p.name) for p in required))


def arguments(function, chance):
    """Return what to call a function with, and the kinds of the odd ones."""
    parameters = [p for p in signature(function) if p.name != "self"]
    count = min(len(parameters), chance.choice((1, 1, 2)))
    odd = {p.name for p in chance.sample(parameters, count)}
    names, positional, keyword = [], [], {}

    def choose(name):
        if name not in odd:
            return good(name)
        kind = chance.choice(list(KINDS))
        names.append(f"{name}={kind}")
        return KINDS[kind]()

    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            positional += [choose(p.name) for _ in range(chance.randrange(4))]
        elif p.kind is p.VAR_KEYWORD:
            if p.name in odd:
                keyword[chance.choice(("dtype", "axis", "x"))] = choose(p.name)
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty:
            positional.append(choose(p.name))
        elif p.name in odd or (p.default is p.empty) or chance.random() < 0.1:
            keyword[p.name] = choose(p.name)
    return positional, keyword, names


def control_word():
    """Return the rounding and masks of this thread's floating-point unit (MXCSR, FPCR)."""
    buffer = ctypes.create_string_buffer(64)
    LIBRARY.fegetenv(buffer)
    if os.uname().machine != "x86_64":
        return buffer.raw[:4]
    return buffer.raw[0], int.from_bytes(buffer.raw[28:32], "little") & ~0x3F


def settings():
    """Return every setting that a call might change."""
    return {
        "options": _core.get_options(),
        "threads": tropical.get_num_threads(),
        "settings": tuple(_core.settings().items()),
        "memory mode": tropical.autograd.get_memory_mode(),
        "gradients": tropical.autograd.is_grad_enabled(),
        "np.geterr": tuple(np.geterr().items()),
        "np.geterrcall": np.geterrcall(),
        "np.get_printoptions": str(np.get_printoptions()),
        "np.random": np.random.get_state()[1].tobytes(),  # noqa: NPY002
        "warnings": list(warnings.filters),
        "floating point": control_word(),
        "signals": signal.getsignal(signal.SIGINT),
        "folder": os.getcwd(),  # noqa: PTH109
        "recursion": sys.getrecursionlimit(),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
    }


def documented(function, cls, error):
    """Whether a docstring names the class of an error, or one above, under Raises."""
    forward = getattr(cls, "forward", None)  # of a module, which its __call__ calls
    pages = [inspect.getdoc(x) or "" for x in (function, cls, forward) if x is not None]
    section = r"Raises\n-+\n(.*?)(?:\n\n\w[^\n]*\n--|\Z)"
    raises = " ".join(re.findall(section, "\n\n".join(pages), re.DOTALL))
    return any(re.search(rf"\b{known.__name__}\b", raises) for known in type(error).__mro__[:-2])


def allowed(error, odd):
    return isinstance(error, ALLOWED) or any(
        isinstance(error, passed) and re.search(kinds, odd) for passed, kinds in PASSED.items()
    )


def contents(values):
    """Return the bytes of the arrays among the arguments."""
    return [x.tobytes() for x in values if type(x) is np.ndarray and x.size < 100]


def wrong(function, cls, positional, keyword, call):
    """Make a call; return what is wrong with it, or None."""
    before = settings()
    said = None
    given = [*positional, *keyword.values()]
    held = contents(given)
    try:
        owner = () if cls is None else (made(cls),)
        result = function(*owner, *positional, **keyword)
        if inspect.isgenerator(result):
            list(itertools.islice(result, 10))
    except BaseException as error:
        if not (allowed(error, call) or documented(function, cls, error)):
            said = "".join(traceback.format_exception(error, limit=-6))
        # Documented: work in place that does not end, or that `progress` ends.
        in_place = isinstance(error, tropical.graph.DivergenceError) or "progress=" in call
        if contents(given) != held and not in_place:
            said = f"raised {error!r} after it changed an argument"
    after = settings()
    changed = [setting for setting in before if before[setting] != after[setting]]
    if changed and call.partition("(")[0].rpartition(".")[2] not in SETTERS:
        said = f"changed {[(x, before[x], after[x]) for x in changed]}"
    return said


def reset():
    _core.set_options(None, None, None, False, None)
    tropical.set_num_threads(2)
    _core.set_settings(_core.suggested_settings())
    tropical.autograd.set_memory_mode("off")


def main(report, seconds, first):
    os.chdir(tempfile.mkdtemp())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sparse()  # the first import of SciPy adds filters of warnings
    warnings.simplefilter("ignore")
    known = list(targets().items())
    end = time.monotonic() + seconds
    with open(report, "a", buffering=1) as log, contextlib.redirect_stdout(io.StringIO()):  # noqa: PTH123
        for number in itertools.count(first):
            if time.monotonic() > end:
                break
            name, (function, cls) = known[number % len(known)]
            chance = random.Random(number)
            reset()
            positional, keyword, odd = arguments(function, chance)
            call = f"{name}({', '.join(odd)})"
            log.write(f"{number} {call}\n")
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            if said := wrong(function, cls, positional, keyword, call):
                log.write(f"wrong: {said!r}\n")
            faulthandler.cancel_dump_traceback_later()
        log.write("end\n")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
