"""The command `rageval` and `python -m rageval`: what is set for a whole process is set here."""

from __future__ import annotations

import atexit
import gc


def main() -> None:
    """Run the command line.

    A command makes many objects that stay, and hardly any cycles: garbage is looked for rarely, and not at
    the end, when all memory is given back anyway. This saves a sixth of the start, and more of long files.
    """
    gc.set_threshold(100_000, 20, 50)
    atexit.register(gc.freeze)
    from rageval.cli import main as command

    command(prog_name="rageval")


if __name__ == "__main__":
    main()
