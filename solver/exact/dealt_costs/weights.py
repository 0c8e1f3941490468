"""
The linear program for weights: with which every service is dealt as much as can be, by covers that were met.

    max  sum_w n_w y_w   s.t.   y_w <= sum_{j in S} f_j . v_K(j)     for the covers S met of service w
                                y_w <= e_w
                                sum v_K = 1,  v_K >= 0, in a box about a centre        for each box of surroundings K

e_w: what the service costs elsewhere, if it can be there; v_K: the weights of a box; f_j: what they are multiplied by
for a resident (resident_points.py). Whatever weights the program returns are made such as deal no more than a GPU: what
they prove does not rest on the solver.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..backends.linear_program import least_cost
from ..backends.sparse_rows import SparseRows, of_blocks, sparse_rows


@dataclass(frozen=True, eq=False)
class MetCovers:
    """Covers of services by residents, in flat arrays; shapes (cover,) and (resident,)."""

    service: Ints
    """Whose each cover is."""
    cover: Ints
    """Of which cover each resident is, rising."""
    box: Ints
    """In which box."""
    features: Floats
    """f, shape (resident, weight)."""

    def and_also(self, others: "MetCovers") -> "MetCovers":
        """Returns these, and then others."""
        return MetCovers(
            np.concatenate([self.service, others.service]),
            np.concatenate([self.cover, others.cover + len(self.service)]),
            np.concatenate([self.box, others.box]),
            np.concatenate([self.features, others.features]),
        )

    def of(self, kept: np.ndarray) -> "MetCovers":
        """Returns those covers that are marked, shape (cover,)."""
        number = np.cumsum(kept) - 1
        own = kept[self.cover]
        return MetCovers(self.service[kept], number[self.cover[own]], self.box[own], self.features[own])

    def in_boxes(self, number: Ints) -> "MetCovers":
        """Returns those whose boxes all have a new number, shape (box,); -1: it is gone."""
        gone = np.bincount(self.cover[number[self.box] < 0], minlength=len(self.service)) > 0
        kept = self.of(~gone)
        return MetCovers(kept.service, kept.cover, number[kept.box], kept.features)

    def dealt(self, weights: Floats) -> Floats:
        """Returns what each cover is dealt, shape (cover,)."""
        own = (self.features * weights[self.box]).sum(axis=1)
        return np.asarray(np.bincount(self.cover, weights=own, minlength=len(self.service)))


@dataclass(frozen=True, eq=False)
class BestWeights:
    """A solution of the program."""

    weights: Floats
    """Shape (box, weight)."""
    most: Floats
    """y, shape (service,)."""
    used: Floats
    """GPUs with their surroundings in each box, in the program's dual; shape (box,)."""


def fair(weights: Floats) -> Floats:
    """Returns weights that are none below 0 and sum to 1 at most, shape (box, weight)."""
    own = np.maximum(weights, 0.0)
    return np.asarray(own / np.maximum(own.sum(axis=1, keepdims=True), 1.0))


def best_weights(
    covers: MetCovers, number: Floats, enough: Floats, centre: Floats, distance: float, time_limit_s: float
) -> BestWeights | None:
    """
    Returns the best weights near a centre by the covers that were met; None: none in time.

    Parameters
    ----------
    number
        n: how many services each stands for, shape (service,).
    enough
        What no y need exceed, shape (service,); inf: there is no such limit.
    centre
        Shape (box, weight).
    distance
        By which a weight may differ from it.
    """
    services, (boxes, weights) = len(number), centre.shape
    columns = services + covers.box[:, None] * weights + np.arange(weights)
    variables, count = services + boxes * weights, len(covers.service)
    # Of a cover with several residents in a box the features are one entry.
    entries = np.concatenate(
        [np.arange(count) * variables + covers.service, (covers.cover[:, None] * variables + columns).ravel()]
    )
    values = np.concatenate([np.ones(count), -covers.features.ravel()])
    places, which = np.unique(entries, return_inverse=True)
    of_covers = SparseRows(
        places // variables,
        places % variables,
        np.bincount(which, weights=values).astype(np.float64),
        (count, variables),
    )
    of_boxes = sparse_rows(
        np.repeat(np.arange(boxes), weights),
        np.arange(services, variables),
        np.ones(boxes * weights),
        (boxes, variables),
    )
    try:
        found = least_cost(
            np.concatenate([-number, np.zeros(boxes * weights)]),
            of_blocks([[of_covers], [of_boxes]]),
            np.concatenate([np.full(count, -np.inf), np.ones(boxes)]),
            np.concatenate([np.zeros(count), np.ones(boxes)]),
            least=np.concatenate([np.zeros(services), np.maximum(centre.ravel() - distance, 0.0)]),
            most=np.concatenate([enough, np.minimum(centre.ravel() + distance, 1.0)]),
            time_limit_s=max(time_limit_s, 0.1),
        )
    except TimeoutError:
        return None
    if found is None:
        return None
    dual = np.maximum(-found.dual[:count], 0.0)
    used: Floats = np.bincount(covers.box, weights=dual[covers.cover], minlength=boxes).astype(np.float64)
    return BestWeights(fair(found.x[services:].reshape(boxes, weights)), np.asarray(found.x[:services]), used)
