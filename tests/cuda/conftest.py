import emulated
import pytest
import real

from tropical.cuda import libraries


@pytest.fixture
def emulated_gpu(monkeypatch):
    """A GPU of compute capability 9.0, on which arrays of `emulated.on_gpu` lie."""
    if emulated.COMPILER is None:
        pytest.skip("needs g++")
    monkeypatch.setitem(libraries.LIBRARIES, emulated.__name__, emulated.Emulated)
    monkeypatch.setattr(emulated.Emulated, "emulator", emulated.Emulator())
    return emulated.Emulated.emulator


@pytest.fixture(params=["emulated", *["real"] * real.is_there()])
def emulator(request, monkeypatch):
    """The same, and where there is a GPU, that one, on which these arrays lie, too."""
    if request.param == "emulated":
        return request.getfixturevalue("emulated_gpu")
    monkeypatch.setitem(libraries.LIBRARIES, emulated.__name__, real.OnHost)
    monkeypatch.setattr(emulated.Emulated, "emulator", real.Real())
    return emulated.Emulated.emulator
