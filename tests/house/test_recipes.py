"""The recipes of docs/architecture.md are the file lists of commits that followed them.

A recipe is a section `## Adding ...`. Each of its numbered items begins with a file in backquotes.
A sentence that says commit "SUBJECT" names the commit, which touched these files and no others.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
RECIPES = re.findall(
    r"^## (Adding [^\n]*)\n(.*?)(?=^## |\Z)",
    PAGE.read_text(encoding="utf-8") if PAGE.exists() else "",
    re.MULTILINE | re.DOTALL,
)
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="needs the manual")


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("title, text", RECIPES, ids=[title for title, _ in RECIPES])
def test_recipe(title, text):
    files = re.findall(r"^\d+\. `([^`]+)`", text, re.MULTILINE)
    assert files and all((ROOT / file).exists() for file in files if "<" not in file)
    for subject in re.findall(r'commit\s+"([^"]+)"', text):
        subject = " ".join(subject.split())
        commits = [
            line.split(" ", 1)[0]
            for line in git("log", "--format=%H %s")
            if line.split(" ", 1)[1] == subject
        ]
        if not commits:
            pytest.skip(f"the history that is here lacks the commit {subject}")
        assert set(git("show", "--format=", "--name-only", commits[0])) == set(files), subject


def test_there_are_recipes():
    titles = {"Adding a semiring", "Adding a dtype", "Adding an instruction set"}
    assert {title for title, _ in RECIPES} >= titles
