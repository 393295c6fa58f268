"""Parallel scoring: with processes of this machine, any executor, or a Dask cluster.

The unit of work is a run, or a part of a run's file that is cut where rows of another query begin
(`files.parts`). A unit knows nothing of other units and may be done twice; its result is rows and counts
(`scoring.sources.Joining`), which are put together in the order of the file. Judgements travel, rows of runs
do not.
"""

from rageval.parallel._divided import Divided, scored
from rageval.parallel._engines import Engine, Forked, OnDask, OnExecutor, processes

__all__ = ["Divided", "Engine", "Forked", "OnDask", "OnExecutor", "processes", "scored"]
