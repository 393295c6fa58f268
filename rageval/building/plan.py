"""What somebody wants built: from which files, with which judges, how deep."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rageval.building import fusion, pools
from rageval.building.filtering import STRICT
from rageval.building.support import THRESHOLD
from rageval.judges.base import Model
from rageval.judges.panel import Settings

Judge = str | Model


@dataclass(frozen=True)
class Plan:
    """Everything that makes a difference to the collection.

    `runs` are (setting, path) pairs; without any, BM25 looks for the texts of every setting in the corpus.
    `nuggets` is a file of nuggets in place of those a judge would write. `support_judges` default to the
    judge; what several of them say is put together by `settings.vote`. With `unfused` the runs themselves
    are pooled, besides their fusions.
    """

    questions: str
    corpus: str
    folder: Path
    judge: Judge | None = None
    support_judges: tuple[Judge, ...] = ()
    runs: tuple[tuple[str, str], ...] = ()
    nuggets: str | None = None
    method: str = fusion.MINMAX
    fuse_depth: int = fusion.DEPTH
    k: int = fusion.K
    depth: int = pools.DEPTH
    unfused: bool = False
    threshold: float = THRESHOLD
    rule: str = STRICT
    settings: Settings = field(default_factory=Settings)

    @property
    def steps(self) -> Path:
        """The folder of what stands between the inputs and the collection."""
        return self.folder / "steps"

    @property
    def inputs(self) -> list[str]:
        """The files it is made from."""
        return [self.questions, self.corpus, *filter(None, [self.nuggets]), *(path for _, path in self.runs)]

    @property
    def frozen(self) -> list[str]:
        """What may be files that judges are read from."""
        judges = (self.judge, *self.support_judges)
        return [judge.partition(":")[2] for judge in judges if isinstance(judge, str)]

    @property
    def thresholds(self) -> dict[str, object]:
        """The numbers of the plan, for the manifest."""
        return {
            "fusion": self.method,
            "fuse_depth": self.fuse_depth,
            "k": self.k,
            "pool_depth": self.depth,
            "unfused": self.unfused,
            "support": self.threshold,
            "filter": self.rule,
        }
