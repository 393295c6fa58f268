"""Everything besides the values that a comparison depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rageval.errors import UsageError
from rageval.statistics import SEED
from rageval.statistics.bootstrap import INTERVALS, RESAMPLES
from rageval.statistics.power import POWER
from rageval.statistics.significance import DRAWS
from rageval.text import visible
from rageval.version import __version__

TESTS = ("randomisation", "t", "wilcoxon")
ADJUSTMENTS = ("holm", "max_t", "tukey", "none")
BEST = "best"
_MOST = 10**7  # draws


@dataclass(frozen=True, slots=True)
class Settings:
    """How runs are compared.

    `baseline`: the run the others are compared with; `best` is the best one, measure by measure;
    `all_pairs`: every run with every other instead; `test`: `randomisation`, `t`, `wilcoxon`; `adjust`: for
    several comparisons, `holm`, `max_t`, `tukey` or `none`; `interval`: `bca` or `percentile`, of measures
    with more than two values; `level`: of intervals, and 1 − level is what an adjusted p is held against;
    `power`: of the detectable difference; `draws`: of the randomisation, at least; `resamples`: of the
    bootstrap; `clusters`: {query: cluster} where queries are not independent; `clustered_by`: what to call
    that.
    """

    baseline: str = BEST
    all_pairs: bool = False
    test: str = "randomisation"
    adjust: str = "holm"
    interval: str = "bca"
    level: float = 0.95
    power: float = POWER
    draws: int = DRAWS
    resamples: int = RESAMPLES
    seed: int = SEED
    clusters: Mapping[str, str] | None = field(default=None, hash=False)
    clustered_by: str = "clusters"

    def __post_init__(self) -> None:
        for name, allowed in (("test", TESTS), ("adjust", ADJUSTMENTS), ("interval", INTERVALS)):
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name}={getattr(self, name)!r}: expected one of {', '.join(allowed)}")
        for name in ("level", "power"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)!r}: expected a number between 0 and 1")
        for name in ("draws", "resamples"):
            if not 100 <= getattr(self, name) <= _MOST:
                raise UsageError(
                    f"{name}={getattr(self, name)!r}: expected a whole number from 100 to {_MOST:,}"
                )
        if self.seed < 0:
            raise UsageError(f"seed={self.seed}: expected a whole number from 0")
        if self.adjust in ("max_t", "tukey") and self.test != "randomisation":
            raise UsageError(
                f"adjust={self.adjust!r} is a randomisation test;"
                f" leave out test={self.test!r}, or choose holm"
            )
        if self.test == "wilcoxon" and self.clusters is not None:
            raise UsageError("test='wilcoxon' knows no clusters; choose randomisation or t")
        if self.all_pairs and self.baseline != BEST:
            raise UsageError(f"all_pairs has no baseline; leave out baseline={self.baseline!r}")

    @property
    def signature(self) -> str:
        """Everything a stranger needs to repeat the comparison."""
        parts = {"test": self.test}
        if self.test == "randomisation":
            parts["draws"] = str(self.draws)
        parts |= {
            "adjust": self.adjust,
            "against": "all-pairs" if self.all_pairs else visible(self.baseline),
            "interval": self.interval,
            "resamples": str(self.resamples),
            "level": f"{self.level:g}",
            "power": f"{self.power:g}",
        }
        if self.clusters is not None:
            parts["units"] = visible(self.clustered_by)
        parts |= {"seed": str(self.seed), "v": __version__}
        return "|".join(["compare", *(f"{name}:{value}" for name, value in parts.items())])
