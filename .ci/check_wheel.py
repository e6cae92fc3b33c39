"""Fail unless a wheel holds what users need and nothing else: check_wheel.py WHEEL [LIBRARY...].

The wheel may carry the LIBRARYs, such as libgomp, and no others. On Linux its extension may link
only those and what every manylinux or musllinux system has.
"""

import io
import re
import sys
import zipfile
from fnmatch import fnmatch

EXTENSION_LIMIT = 12_000_000  # bytes; docs/decisions.md says why
NEEDED = ["*/_core.*", "*/_core.pyi", "*/py.typed", "*/data/*.csv", "*/SOURCE.md", "*/LICENSE"]
NEEDED += ["tropical/cuda/device/gemm.cuh", "tropical/cuda/device/core/semiring.hpp"]
UNWANTED = ["*.cpp", "*.hpp", "*.cmake", "*.pyc", "*/tests/*"]
COMPILED_BY_USERS = "tropical/cuda/device/*"  # for their GPUs
EVERYWHERE = {
    "manylinux": {"ld-linux", "libc", "libgcc_s", "libm", "libpthread", "libstdc++"},
    "musllinux": {"libc"},
}


def linked(extension: bytes) -> set[str]:
    """Names of the libraries that an ELF file links, without version and hash."""
    from elftools.elf.elffile import ELFFile  # which auditwheel brings

    tags = ELFFile(io.BytesIO(extension)).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")
    return {re.split(r"[.-](?!linux)", tag.needed)[0] for tag in tags}


path, *carried = sys.argv[1:]
with zipfile.ZipFile(path) as wheel:
    files = {entry.filename: entry.file_size for entry in wheel.infolist() if not entry.is_dir()}
    (extension,) = (name for name in files if re.fullmatch(r"tropical/_core\..*(so|pyd)", name))
    content = wheel.read(extension)
missing = [pattern for pattern in NEEDED if not any(fnmatch(name, pattern) for name in files)]
unwanted = [
    name
    for name in files
    if any(fnmatch(name, pattern) for pattern in UNWANTED) and not fnmatch(name, COMPILED_BY_USERS)
]
libraries = {re.split(r"[.-]", name.split("/")[-1])[0] for name in files if ".libs/" in name}
unwanted += sorted(libraries - {*carried})
for system, those in EVERYWHERE.items():
    if system in path:
        unwanted += sorted(linked(content) - those - {*carried})
carries = ", ".join(sorted(libraries)) or "no library"
print(f"{path}: {len(files)} files, extension {files[extension]:,} bytes, carries {carries}")
if missing or unwanted or files[extension] > EXTENSION_LIMIT:
    sys.exit(f"missing {missing}, unwanted {unwanted}, extension above {EXTENSION_LIMIT:,} bytes?")
