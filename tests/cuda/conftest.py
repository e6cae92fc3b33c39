import emulated
import pytest

from tropical.cuda import libraries


@pytest.fixture
def emulator(monkeypatch):
    """A GPU of compute capability 9.0, on which arrays of `emulated.on_gpu` lie."""
    if emulated.COMPILER is None:
        pytest.skip("needs g++")
    monkeypatch.setitem(libraries.LIBRARIES, emulated.__name__, emulated.Emulated)
    monkeypatch.setattr(emulated.Emulated, "emulator", emulated.Emulator())
    return emulated.Emulated.emulator
