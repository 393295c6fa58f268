"""Judging by the workers of a Dask cluster, with one store, one budget and one gate.

This process stays the only one that reads and writes the store, reserves from the budget and closes the gate;
workers do nothing but calls. So everything that holds for one process holds for a cluster: no limit can be
exceeded by workers that do not know of one another, a server that asks for a pause is left alone by all of
them, and who dies takes along nothing but the calls it had under way.
"""

from rageval.judges.cluster.model import OnCluster

__all__ = ["OnCluster"]
