"""Run the command line: ``python -m tropical``."""

from tropical.cli import main
from tropical.measure.terminal import run

if __name__ == "__main__":
    run("python -m tropical", main)
