"""
Cut GPUs in the program of whole contents: numbers of cuts, and of partitions of each size for each service.

A GPU that is cut into seven has more contents than can be listed, where services are many. As in the MIG cutting stock
(mig/cutting_stock.py), with x_p GPUs cut in way p, a_pk partitions of size k in it, and n_wk partitions of size k for
service w, every choice of contents is one of

    sum_w n_wk <= sum_p a_pk x_p    for every size k

and the other way round, as partitions of one size are alike.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.math_opt.python import mathopt

from ...allocation.allocated import CutGpu, Segment
from ...performance.interference.prediction import Floats, Ints
from .cut_gpus import CutGpus
from .gpu_contents import Content, GpuContents


@dataclass(frozen=True, eq=False)
class CutVariables:
    """Variables of the cut GPUs of one type."""

    of_type: CutGpus
    cuts: tuple[mathopt.Variable, ...]
    """How many GPUs are cut in each way."""
    partitions: Mapping[tuple[int, int], mathopt.Variable]
    """By workload and size."""

    @classmethod
    def added(cls, model: mathopt.Model, of_type: CutGpus, gpus: int, most: Floats) -> "CutVariables":
        """
        Adds variables and rows to a program, in which a type has at most so many GPUs.

        `most`, shape (workload,): how many replicas each may have; inf: any number.
        """
        cuts = tuple(model.add_integer_variable(lb=0, ub=gpus) for _ in of_type.cuts)
        supply: dict[int, list[mathopt.LinearTerm]] = {}
        for cut, x in zip(of_type.cuts, cuts, strict=True):
            for k, number in Counter(cut.tolist()).items():
                supply.setdefault(k, []).append(number * x)
        partitions = {
            (int(w), k): model.add_integer_variable(lb=0, ub=float(most[w]))
            for k in supply
            for w in np.flatnonzero((of_type.capacity_rps[:, k] > 0) & (most > 0)).tolist()
        }
        for k, terms in supply.items():
            taken = mathopt.LinearSum(n for (_, size), n in partitions.items() if size == k)
            model.add_linear_constraint(taken <= mathopt.LinearSum(terms))
        return cls(of_type, cuts, partitions)

    def of_workload(self, w: int) -> Iterator[tuple[float, mathopt.Variable]]:
        """Yields requests/s and number of each kind of partition of a workload."""
        for (own, k), n in self.partitions.items():
            if own == w:
                yield float(self.of_type.capacity_rps[w, k]), n

    def start(self, contents: Iterable[Content]) -> dict[mathopt.Variable, float]:
        """Returns the values of some contents of the type."""
        values = dict.fromkeys([*self.cuts, *self.partitions.values()], 0.0)
        for one in contents:
            if not self.of_type.has(one):
                continue
            assert isinstance(one.gpu, CutGpu)
            needed = Counter(segment.size for segment in one.gpu.segments)
            fits = (not needed - Counter(cut.tolist()) for cut in self.of_type.cuts)
            values[next(x for x, enough in zip(self.cuts, fits, strict=True) if enough)] += 1
            for segment in one.gpu.segments:
                # Somebody who may not be there any more has no variable.
                if (n := self.partitions.get((segment.workload, segment.size))) is not None:
                    values[n] += 1
        return values

    def contents(self, values: Mapping[mathopt.Variable, float]) -> list[Content]:
        """Returns the contents that values stand for."""
        waiting: dict[int, list[int]] = {}
        for (w, k), n in self.partitions.items():
            waiting.setdefault(k, []).extend([w] * round(values[n]))
        found = []
        for cut, x in zip(self.of_type.cuts, self.cuts, strict=True):
            for _ in range(round(values[x])):
                found.append(self._dealt(cut, waiting))
        return [one for one in found if one is not None]

    def _dealt(self, cut: Ints, waiting: Mapping[int, list[int]]) -> Content | None:
        """Returns a GPU that is cut so, with those who wait for partitions of its sizes, who wait no longer."""
        segments = [Segment(k, waiting[k].pop()) for k in cut.tolist() if waiting.get(k)]
        return self.of_type.of(CutGpu(self.of_type.gpu, tuple(segments)))


def cut_variables(
    model: mathopt.Model, fleet: Sequence[GpuContents], gpus: Mapping[str, int], most: Floats
) -> list[CutVariables]:
    """Adds those of every GPU type that may be cut."""
    cut = [one for one in fleet if isinstance(one, CutGpus)]
    return [CutVariables.added(model, one, gpus[one.gpu], most) for one in cut if gpus[one.gpu]]
