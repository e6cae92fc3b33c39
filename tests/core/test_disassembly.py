"""The hot loops keep their accumulators in registers: no stack access in the innermost loops.

Names are needed: those of the extension, or where it is stripped, of the objects it was linked from
(TROPICAL_TEST_OBJECTS=<build folder>, in which isa_*.o are looked for).
"""

import os
import re
import shutil
from pathlib import Path

import pytest
from support import SANITIZED, run_command

from tropical import _core

pytestmark = pytest.mark.skipif(SANITIZED, reason="instrumented code is another")
NAME = re.compile(r"^[0-9a-f]+ <(.*)>:$")
JUMP = re.compile(r"\bj[a-z]+\s+(?:0x)?([0-9a-f]+)\b|\bb(?:\.[a-z]+|l?)\s+(?:0x)?([0-9a-f]+)\b")
STACK = re.compile(r"\((?:%rsp|%esp)|\[(?:sp|x29)\b")
# The careful kernels need more registers than there are, at two to three times the work anyway.
MACRO_KERNEL = re.compile(r"macro_(?:kernel|logs)(?!.*(?:Careful|Sharing)Ring)")
# SSE2 compares no 64-bit integers: these go through general registers.
NOT_VECTORS = re.compile(r"::M(?:ax|in)\w+, long, 16>")
VECTOR = re.compile(r"%[xyz]mm|\bv\d+\.")
DOT = re.compile(r"^vpdp|^[us]dot")
COPY = re.compile(r"^v?p?(?:mov|broadcast|unpck|shuf|perm|insert|extract)|^(?:ld|st|dup|mov)")
STORE = re.compile(r"^v?mov\S*\s+[^(]*,[^,(]*\((?!%rsp)|^st[rpu]\w*\s+(?!.*\[sp)")


def functions(file):
    """{demangled name: [(address, instruction)]} of the hot functions in an object file."""
    text = run_command("objdump", "-d", "--demangle", "--no-show-raw-insn", file, check=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if name := NAME.match(line):
            current = found.setdefault(name[1], []) if MACRO_KERNEL.search(name[1]) else None
        elif current is not None and "\t" in line:
            address, _, instruction = line.strip().partition(":")
            current.append((int(address, 16), instruction.strip()))
    return found


def innermost_loops(code):
    """Lists of the instructions between a jump's target and a backward jump to it."""
    spans = []
    for address, instruction in code:
        jump = JUMP.search(instruction)
        if jump and (target := int(jump[1] or jump[2], 16)) <= address and target >= code[0][0]:
            spans.append((target, address))
    for span in spans:
        if not any(span != s and span[0] <= s[0] and s[1] <= span[1] for s in spans):
            loop = [text for address, text in code if span[0] <= address <= span[1]]
            if "ret" not in loop:  # which stands between a loop and code moved behind it
                yield loop


def hot(loop):
    """Whether it is a rank-1 update: eight vector operations or more, and nothing stored to C.

    A dot product of four bytes stands for four.
    """
    operations = [i for i in loop if VECTOR.search(i) and not COPY.match(i)]
    count = sum(4 if DOT.match(i) else 1 for i in operations)
    return count >= 8 and not any(map(STORE.match, loop))


def files():
    if folder := os.environ.get("TROPICAL_TEST_OBJECTS"):
        return sorted(Path(folder).glob("**/isa_*.o"))
    return [Path(_core.__file__)]


@pytest.fixture(scope="module")
def disassembly():
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    found = {
        f"{file.name}: {name}": code for file in files() for name, code in functions(file).items()
    }
    if not found:
        pytest.skip("the extension is stripped and TROPICAL_TEST_OBJECTS names no build folder")
    return found


def test_no_stack_access_in_hot_loops(disassembly):
    spilled, count = {}, 0
    for name, code in disassembly.items():
        for loop in filter(hot, innermost_loops(code)):
            count += 1
            if stack := [instruction for instruction in loop if STACK.search(instruction)]:
                spilled[name] = stack[:3]
    assert count >= 30, f"only {count} hot loops found in {len(disassembly)} functions"
    assert not spilled, f"{len(spilled)} of {count} loops: {spilled}"


def test_each_function_has_a_hot_loop(disassembly):
    """Else the test above would look past it."""
    names = [name for name in disassembly if not NOT_VECTORS.search(name)]
    without = [n for n in names if not any(map(hot, innermost_loops(disassembly[n])))]
    assert len(names) >= 30 and not without, without
