"""The command of rageval on a Dask cluster that lives as long: PROCESSES WORD…"""

import os
import sys

from distributed import LocalCluster

from rageval.cli import main

if __name__ == "__main__":
    processes, *words = sys.argv[1:]
    # Dask has its workers give memory back at once, which doubles the time of reading: docs/scale.md
    os.environ |= {"MALLOC_TRIM_THRESHOLD_": str(2**28), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
    with LocalCluster(int(processes), threads_per_worker=1, dashboard_address=":0") as cluster:
        main([*words, "--dask", cluster.scheduler_address])
