"""Run the command line: ``python -m tropical``."""

import os
import sys

from tropical.cli import main


def _run() -> int:
    try:
        status = main()
        print(end="", flush=True)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # whose reader has seen enough
            print(f"python -m tropical: error: {error}", file=sys.stderr)
        # What is still buffered cannot be written when Python exits either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("python -m tropical: interrupted", file=sys.stderr)
        return 130
    except MemoryError as error:
        print(f"python -m tropical: error: out of memory: {error}", file=sys.stderr)
    else:
        return status
    return 1


if __name__ == "__main__":
    sys.exit(_run())
