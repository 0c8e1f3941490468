"""
Prices of models from parts of cells, and the limit that they prove, at any number of models.

Each cell k (set_cells.py) of GPUs of type g(k) takes parts of models, x_iku of i on u units, for parts z_k of GPUs:

    max  sum of c_ik(u) x_iku
    s.t. sum over k, u of x_iku = 1                      for every model i                          price pi_i
         sum of u x_iku     <= U z_k,                    for every cell k: units                    lambda_k >= 0
         sum of x_iku        = n_k z_k                   models                                     nu_k
         L0_k z_k <= sum of l_i(u) x_iku <= L1_k z_k     L2 use                                     alpha_k, beta_k >= 0
         sum over k of type g of z_k <= N_g              GPUs                                       V_g >= 0

Every decision is a solution: a GPU's set is in one of the cells, and counts no more than c there. So for any lambda,
alpha, beta >= 0 and nu no decision has more than sum of pi_i + sum of N_g V_g with

    pi_i = max over k, u of c_ik(u) - lambda_k u - nu_k + (alpha_k - beta_k) l_i(u)
    V_g  = max over k of g of U lambda_k + n_k nu_k + L1_k beta_k - L0_k alpha_k, and 0

which needs no solver to be believed, and takes one look at each model. At the least such limit nobody is out of place
by much, which makes pi the prices at which sets are worth asking for (set_prices.py). Memory is left out: a relaxation.

The program is solved over the x that may be used at the multipliers so far, part of the way to its own multipliers
each time. Cells that GPUs are in are halved, and so the limit falls. The multipliers belong to cells, and not to
models: of many models some tell them for all, evenly taken from these in the order of their first prices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from ...performance.interference.prediction import Floats
from ...runtime.progress import report
from ..decision import ROUNDING
from ..latency import Ints
from .alike_models import SOME, some_of
from .effort import IsOver
from .set_cells import Cell, Members
from .set_values import NEVER
from .unit_prices import LEFT_OUT

MOST_CELLS = 240

WAY = 0.5
"""Part of the way from the best multipliers to those of the program."""

FIRST_NEAR, NEAR = 0.02, 6e-3
"""Of what a model counts at most: by so much less than its price a cell's best part may be worth, and is a column."""

STEPS = 12
"""For the same cells."""

ENOUGH = 5e-4
"""Part of the limit: no more than that is looked for with the same cells."""


@dataclass(frozen=True, eq=False)
class _Multipliers:
    """Shape (cell,) each."""

    of_unit: Floats
    of_model: Floats
    of_l2: Floats
    """beta - alpha: above 0, it costs."""

    @property
    def is_plain(self) -> bool:
        """Whether units alone have prices."""
        return not (self.of_model.any() or self.of_l2.any())

    def towards(self, other: "_Multipliers", part: float) -> "_Multipliers":
        pairs = (self.of_unit, other.of_unit), (self.of_model, other.of_model), (self.of_l2, other.of_l2)
        return _Multipliers(*((1 - part) * own + part * there for own, there in pairs))

    def of(self, cells: Ints) -> "_Multipliers":
        return _Multipliers(self.of_unit[cells], self.of_model[cells], self.of_l2[cells])


@dataclass(frozen=True, eq=False)
class _Parts:
    """What parts of models are worth in cells; a model that cannot be on a type of GPU is worth -inf there."""

    cells: tuple[Cell, ...]
    kind: Ints
    """Shape (cell,)."""
    size: Ints
    """Units of a GPU, shape (cell,)."""
    worth: Floats
    """c, the best batch's, shape (cell, model, units)."""
    l2: Floats
    """Shape (type, model, units)."""

    @classmethod
    def of(cls, members: Sequence[Members], cells: Sequence[tuple[int, Cell]], models: Ints) -> "_Parts":
        """Looks at these models; cells with their types."""
        most = max(one.units for one in members)
        worth = np.full((len(cells), len(models), most), NEVER)
        l2 = np.zeros((len(members), len(models), most))
        among = [one.among(models) for one in members]
        rows = [np.searchsorted(models, one.who) for one in among]
        for kind, one in enumerate(among):
            l2[kind, rows[kind], : one.units] = one.l2
        for at, (kind, cell) in enumerate(cells):
            worth[at, rows[kind], : among[kind].units] = among[kind].worth(cell).max(axis=2)
        kinds = np.array([kind for kind, _ in cells], dtype=np.int64)
        sizes = np.array([members[kind].units for kind in kinds], dtype=np.int64)
        return cls(tuple(cell for _, cell in cells), kinds, sizes, worth, l2)

    @cached_property
    def number(self) -> Floats:
        return np.array([one.number for one in self.cells], dtype=np.float64)

    @cached_property
    def low(self) -> Floats:
        return np.array([one.low for one in self.cells])

    @cached_property
    def high(self) -> Floats:
        return np.array([one.high for one in self.cells])

    def left(self, at: _Multipliers) -> Floats:
        """Returns what parts are worth beyond what they take, shape (cell, model, units)."""
        units = np.arange(1, self.worth.shape[2] + 1)
        found = self.worth - at.of_unit[:, None, None] * units
        found -= at.of_model[:, None, None]
        found -= at.of_l2[:, None, None] * self.l2[self.kind]
        return found

    def of_gpus(self, at: _Multipliers, types: int) -> Floats:
        """Returns V, shape (type,)."""
        edge = np.where(at.of_l2 >= 0, self.high, self.low)
        worth = self.size * at.of_unit + self.number * at.of_model + edge * at.of_l2
        return np.array([max(float(worth[self.kind == kind].max(initial=0.0)), 0.0) for kind in range(types)])


@dataclass(frozen=True, eq=False)
class CellPrices:
    """What follows from the multipliers of cells."""

    prices: Floats
    """Shape (model,)."""
    limit: float
    """That they prove."""
    cells: tuple[tuple[Cell, ...], ...]
    """By type of GPU, with their multipliers."""
    worth: Floats
    """What a model is worth at most in a cell of a type beyond what it takes there, shape (type, model)."""
    units: Ints
    """That it takes there, shape (type, model)."""


def prices_in_cells(
    members: Sequence[Members], counts: Ints, of_unit: Floats, begin: Floats, is_over: IsOver, most: int = SOME
) -> CellPrices | None:
    """
    Returns prices at which sets of models are worth little beyond these; None: there was no time, or a model has none.

    Parameters
    ----------
    members
        By type of GPU, of all models.
    counts
        Shape (type,): GPUs.
    of_unit
        Shape (type,): prices of units to begin with.
    begin
        Shape (model,): prices of models that follow from these; what is alike has nearly the same.
    most
        Models that tell the multipliers.
    """
    count, some = len(begin), some_of(begin, most)
    cells = [(kind, cell) for kind, one in enumerate(members) for cell in one.cells()]
    if not cells or is_over():
        return None
    multipliers = _Multipliers(
        np.array([float(of_unit[kind]) for kind, _ in cells]), np.zeros(len(cells)), np.zeros(len(cells))
    )
    gpus = counts * (len(some) / count)
    while True:
        search = _Search(_Parts.of(members, cells, some), gpus.astype(np.float64), multipliers)
        if not np.isfinite(search.limit) or is_over():
            break
        used = search.run(is_over)
        multipliers = search.best
        # Of some models it is an estimate: only a look at all of them proves a limit.
        said = "at most" if len(some) == count else "a limit of about"
        report(f"parts of models in {len(cells)} cells; {said} {search.limit * count / len(some):,.0f} requests/s")
        halved = set(np.flatnonzero(used & (search.parts.number > 1)).tolist())
        if is_over() or not halved or len(cells) + len(halved) > MOST_CELLS:
            break
        after = [
            (at, half) for at, (_, cell) in enumerate(cells) for half in (cell.halves() if at in halved else [cell])
        ]
        multipliers = multipliers.of(np.array([at for at, _ in after]))
        cells = [(cells[at][0], half) for at, half in after]
    parts = search.parts if len(some) == count else _Parts.of(members, cells, np.arange(count))
    return _proven(parts, multipliers, counts)


def _proven(parts: _Parts, at: _Multipliers, counts: Ints) -> CellPrices | None:
    left = parts.left(at)
    types = range(len(counts))
    worth, units = np.full((len(counts), left.shape[1]), NEVER), np.ones((len(counts), left.shape[1]), dtype=np.int64)
    for kind in set(parts.kind.tolist()):
        own = left[parts.kind == kind].max(axis=0)
        worth[kind], units[kind] = own.max(axis=1), own.argmax(axis=1) + 1
    prices: Floats = worth.max(axis=0)
    if not np.isfinite(prices).all():
        return None
    terms = np.concatenate([prices, counts * parts.of_gpus(at, len(counts))])
    limit = float(terms.sum() + ROUNDING * np.abs(terms).sum())
    own_cells = [
        replace(cell, of_l2=-float(at.of_l2[k]), of_number=-float(at.of_model[k])) for k, cell in enumerate(parts.cells)
    ]
    cells = tuple(tuple(own_cells[k] for k in np.flatnonzero(parts.kind == kind)) for kind in types)
    return CellPrices(prices, limit, cells, worth, units)


class _Search:
    """The least limit for some cells."""

    def __init__(self, parts: _Parts, gpus: Floats, begin: _Multipliers) -> None:
        self.parts, self._gpus, self.best = parts, gpus, begin
        self._scale = float(parts.worth.max(initial=0.0)) or 1.0
        self._columns = np.empty(0, dtype=np.int64)
        self.limit = self._look(begin, FIRST_NEAR if begin.is_plain else NEAR)

    def run(self, is_over: IsOver) -> np.ndarray:
        """Looks for better multipliers, and returns in which cells there are GPUs, shape (cell,)."""
        used = np.zeros(len(self.parts.cells), dtype=bool)
        for _ in range(STEPS):
            if is_over():
                break
            found = self._solved()
            if found is None:
                break
            least, goal, gpus = found
            used = gpus > 1e-6
            for trial in (self.best.towards(goal, WAY), goal):
                limit = self._look(trial)
                if limit < self.limit:
                    self.limit, self.best = limit, trial
            if self.limit - least <= ENOUGH * abs(least):
                break
        return used

    def _look(self, at: _Multipliers, near: float = NEAR) -> float:
        """Returns the limit at multipliers; parts that are nearly worth the model's price become columns."""
        left = self.parts.left(at)
        unit = left.argmax(axis=2)
        most = np.take_along_axis(left, unit[:, :, None], axis=2)[:, :, 0]
        prices = most.max(axis=0)
        cell, model = np.nonzero(most >= prices - near * self._scale)
        columns = np.ravel_multi_index((cell, model, unit[cell, model]), left.shape)
        self._columns = np.union1d(self._columns, columns)
        return float(prices.sum() + self._gpus @ self.parts.of_gpus(at, len(self._gpus)))

    def _solved(self) -> tuple[float, _Multipliers, Floats] | None:
        """Returns the most over the columns, the program's multipliers, and GPUs in cells, shape (cell,)."""
        parts, scale = self.parts, self._scale
        cell, model, unit = np.unravel_index(self._columns, parts.worth.shape)
        is_real = parts.worth[cell, model, unit] > NEVER
        cell, model, unit = cell[is_real], model[is_real], unit[is_real]
        cells, models, width = len(parts.cells), parts.worth.shape[1], len(cell)
        worth, l2 = parts.worth[cell, model, unit] / scale, parts.l2[parts.kind[cell], model, unit]
        x, z, out = np.arange(width), width + np.arange(cells), width + cells + np.arange(models)
        every = np.arange(cells)
        equal = csc_array(
            (
                np.concatenate([np.ones(width + models), np.ones(width), -parts.number]),
                (
                    np.concatenate([model, np.arange(models), models + cell, models + every]),
                    np.concatenate([x, out, x, z]),
                ),
            ),
            shape=(models + cells, width + cells + models),
        )
        below = csc_array(
            (
                np.concatenate(
                    [unit + 1.0, -parts.size.astype(float), l2, -parts.high, -l2, parts.low, np.ones(cells)]
                ),
                (
                    np.concatenate(
                        [
                            cell,
                            every,
                            cells + cell,
                            cells + every,
                            2 * cells + cell,
                            2 * cells + every,
                            3 * cells + parts.kind,
                        ]
                    ),
                    np.concatenate([x, z, x, z, x, z, z]),
                ),
            ),
            shape=(3 * cells + len(self._gpus), width + cells + models),
        )
        found = linprog(  # type: ignore[call-overload]  # its stubs know no sparse arrays, which it takes
            np.concatenate([-worth, np.zeros(cells), np.full(models, LEFT_OUT)]),
            A_eq=equal,
            b_eq=np.concatenate([np.ones(models), np.zeros(cells)]),
            A_ub=below,
            b_ub=np.concatenate([np.zeros(3 * cells), self._gpus]),
            method="highs-ds",
        )
        if found.x is None:
            return None
        above = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0) * scale
        of_model = -np.asarray(found.eqlin.marginals)[models:] * scale
        goal = _Multipliers(above[:cells], of_model, above[cells : 2 * cells] - above[2 * cells : 3 * cells])
        return -float(found.fun) * scale, goal, np.asarray(found.x[z])
