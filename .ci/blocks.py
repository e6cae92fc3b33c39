"""Print the fenced code blocks of one language: blocks.py LANGUAGE FILE.md."""

import re
import sys
from pathlib import Path

language, page = sys.argv[1:]
fences = rf"^```{language}\n(.*?)^```$"
for block in re.findall(fences, Path(page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
    print(block, end="")
