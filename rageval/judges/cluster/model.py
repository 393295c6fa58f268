"""A model that the workers of a cluster ask: to everybody else a model as any other."""

from __future__ import annotations

import asyncio

from rageval.errors import UsageError
from rageval.judges.base import Model, Reply, Request
from rageval.judges.cluster.asker import Wanted
from rageval.judges.cluster.crew import Crew
from rageval.judges.models import model_named


class OnCluster:
    """The model of a spec, asked by the workers of the Dask cluster at this address.

    The cluster is joined when the first request is asked, and left by `aclose`.
    """

    def __init__(self, who: str | Model, cluster: str, **options: float) -> None:
        if not isinstance(who, str):
            raise UsageError(
                f"the model {who.name} is an object of this process, but on a cluster ({cluster}) every"
                " worker makes its own: name the judge, such as openai:MODEL"
            )
        model = model_named(who, **options)  # only for its name: nothing is asked from here
        self.name, self.endpoint = model.name, model.endpoint
        self._cluster = cluster
        self._wanted = Wanted(who, self.name, self.endpoint, (*options.items(),))
        self._crew: asyncio.Task[Crew] | None = None

    async def ask(self, request: Request) -> Reply:
        """The reply by way of some worker."""
        if self._crew is None:
            self._crew = asyncio.create_task(_joined(self._cluster, self._wanted))
        crew = await asyncio.shield(self._crew)
        return await crew.ask(request)

    async def aclose(self) -> None:
        """Leave the cluster."""
        joining, self._crew = self._crew, None
        if joining is None:
            return
        joining.cancel()  # if it has not come to an end
        await asyncio.wait([joining])
        if not joining.cancelled() and joining.exception() is None:
            await joining.result().close()


async def _joined(cluster: str, wanted: Wanted) -> Crew:
    crew = Crew(cluster, wanted)
    await crew.join()
    return crew
