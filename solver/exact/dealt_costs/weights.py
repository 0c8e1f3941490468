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
    # Here, as they take longer to load than most problems under MPS, which need no dealing, take to solve.
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    services, (boxes, weights) = len(number), centre.shape
    columns = services + covers.box[:, None] * weights + np.arange(weights)
    rows = np.concatenate([np.arange(len(covers.service)), np.repeat(covers.cover, weights)])
    at = np.concatenate([covers.service, columns.ravel()])
    values = np.concatenate([np.ones(len(covers.service)), -covers.features.ravel()])
    variables = services + boxes * weights
    matrix = csr_array((values, (rows, at)), shape=(len(covers.service), variables))
    of_box = csr_array(
        (np.ones(boxes * weights), (np.repeat(np.arange(boxes), weights), np.arange(services, variables))),
        shape=(boxes, variables),
    )
    low = np.concatenate([np.zeros(services), np.maximum(centre.ravel() - distance, 0.0)])
    high = np.concatenate([enough, np.minimum(centre.ravel() + distance, 1.0)])
    found = linprog(  # type: ignore[call-overload]  # its stubs know no sparse arrays, which it takes
        np.concatenate([-number, np.zeros(boxes * weights)]),
        A_ub=matrix,
        b_ub=np.zeros(len(covers.service)),
        A_eq=of_box,
        b_eq=np.ones(boxes),
        bounds=np.stack([low, high], axis=1),
        method="highs",
        options={"time_limit": max(time_limit_s, 0.1)},
    )
    if found.status != 0 or found.x is None:
        return None
    dual = np.maximum(-found.ineqlin.marginals, 0.0)
    used: Floats = np.bincount(covers.box, weights=dual[covers.cover], minlength=boxes).astype(np.float64)
    return BestWeights(fair(found.x[services:].reshape(boxes, weights)), np.asarray(found.x[:services]), used)
