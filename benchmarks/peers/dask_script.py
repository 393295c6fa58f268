"""The command of rageval on a Dask cluster that lives as long: PROCESSES WORD…"""

import sys

from distributed import LocalCluster

from rageval.cli import main

if __name__ == "__main__":
    processes, *words = sys.argv[1:]
    with LocalCluster(int(processes), threads_per_worker=1, dashboard_address=":0") as cluster:
        main([*words, "--dask", cluster.scheduler_address])
