"""Fail unless a wheel holds what users need and nothing else: check_wheel.py WHEEL."""

import sys
import zipfile
from fnmatch import fnmatch

EXTENSION_LIMIT = 11_600_000  # bytes; docs/decisions.md says why
NEEDED = ["*/_core.*.so", "*/_core.pyi", "*/py.typed", "*/data/*.csv", "*/SOURCE.md", "*/LICENSE"]
UNWANTED = ["*.cpp", "*.hpp", "*.cmake", "*.pyc", "*/tests/*"]

files = {entry.filename: entry.file_size for entry in zipfile.ZipFile(sys.argv[1]).infolist()}
missing = [pattern for pattern in NEEDED if not any(fnmatch(name, pattern) for name in files)]
unwanted = [name for name in files if any(fnmatch(name, pattern) for pattern in UNWANTED)]
(extension,) = (name for name in files if fnmatch(name, "tropical/_core.*.so"))
print(f"{sys.argv[1]}: {len(files)} files, extension {files[extension]:,} bytes")
if missing or unwanted or files[extension] > EXTENSION_LIMIT:
    sys.exit(f"missing {missing}, unwanted {unwanted}, extension above {EXTENSION_LIMIT:,} bytes?")
