"""In CI: fail the build if a retriever gets worse.

rageval run.trec qrels.nugget -m coverage@20 --fail-under coverage@20=0.9
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data"
RAGEVAL = [sys.executable, "-m", "rageval"]  # `rageval`, where it is installed


def main() -> None:
    for run, least in (("run.trec", 0.9), ("baseline.trec", 0.9)):
        command = [*RAGEVAL, str(DATA / run), str(DATA / "qrels.nugget"), "-m", "coverage@20"]
        process = subprocess.run(
            [*command, "--fail-under", f"coverage@20={least}"], capture_output=True, text=True, check=False
        )
        value = process.stdout.split("\t")[-1].strip()
        print(f"{run}: coverage@20 = {value}, at least {least} wanted: exit code {process.returncode}")


if __name__ == "__main__":
    main()
