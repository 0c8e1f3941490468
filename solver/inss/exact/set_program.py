"""The program over known sets: each model in exactly one, at most N_g sets on GPUs of type g, most worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp
from scipy.sparse import csc_array, eye_array, hstack

from ...performance.interference.prediction import Floats
from ..latency import Ints
from .good_sets import Key
from .unit_prices import LEFT_OUT


@dataclass(frozen=True, eq=False)
class SetProgram:
    """Arrays have a column for each set, and then one for each model that is left out."""

    keys: Sequence[Key]
    values: Floats
    """Shape (set,)."""
    models: int
    counts: Ints
    """Shape (type,): GPUs."""
    scale: float
    """What numbers are divided by."""

    @cached_property
    def _cost(self) -> Floats:
        return np.concatenate([-self.values / self.scale, np.full(self.models, LEFT_OUT)])

    @cached_property
    def _once(self) -> csc_array:
        column = np.repeat(np.arange(len(self.keys)), [len(who) for _, who in self.keys])
        member = np.array([i for _, who in self.keys for i in who])
        own = csc_array((np.ones(len(member)), (member, column)), shape=(self.models, len(self.keys)))
        return hstack([own, eye_array(self.models)], format="csc")

    @cached_property
    def _of_type(self) -> csc_array:
        kinds = [kind for kind, _ in self.keys]
        return csc_array(
            (np.ones(len(kinds)), (kinds, np.arange(len(kinds)))), shape=(len(self.counts), len(kinds) + self.models)
        )

    def solved(self) -> OptimizeResult:
        """Returns scipy's solution for parts of sets; `eqlin` has the models' prices, divided by the scale."""
        return linprog(  # type: ignore[call-overload,no-any-return]  # its stubs know no sparse arrays, which it takes
            self._cost,
            A_eq=self._once,
            b_eq=np.ones(self.models),
            A_ub=self._of_type,
            b_ub=self.counts.astype(float),
            method="highs-ds",
        )

    def whole(self, time_limit_s: float) -> list[Key]:
        """Returns the best whole sets that were found in time, which may leave models out; empty: none."""
        found = milp(
            self._cost,
            constraints=[
                LinearConstraint(self._once, 1.0, 1.0),
                LinearConstraint(self._of_type, -inf, self.counts.astype(float)),
            ],
            integrality=np.ones(len(self._cost), dtype=np.int64),
            bounds=Bounds(0, 1),
            options={"time_limit": time_limit_s},
        )
        if found.x is None:
            return []
        return [key for key, share in zip(self.keys, found.x, strict=False) if share > 0.5]
