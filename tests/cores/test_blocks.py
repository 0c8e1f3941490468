"""Quotas, needs and blocks of layers: the published figures, and Algorithm 2 said again in plain loops."""

import random

import numpy as np
import pytest
from problems.layer_chains import published_chain, random_chain

from sliceplan.solver.cores.blocks import blocks, fixed_blocks, pivots, spent, thresholds, whole
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.model.errors import InputError

FIGURES = {
    15: {"pivots": [51, 4, 1, 0], "whole": (183.296, 11.456), "layers": (184.984, 11.225), "blocks": (183.512, 11.315),
         "fixed": [185.472, 183.296, 183.296], "average": 16, "need": (16.453, 32), "number": 5},
    10: {"pivots": [40, 6, 1, 1], "whole": (199.032, 8.293), "layers": (196.792, 8.297), "blocks": (197.184, 8.575),
         "fixed": [197.368, 196.976, 199.032], "average": 24, "need": (23.245, 48), "number": 7},
}  # fmt: skip


@pytest.mark.parametrize("slo_ms", FIGURES)
def test_resnet50_has_the_figures_of_the_prototype(slo_ms):
    quotas, figures = quotas_of(published_chain("resnet50"), slo_ms), FIGURES[slo_ms]
    assert quotas.average == figures["average"]
    assert (round(quotas.need.mean(), 3), quotas.need.max()) == figures["need"]
    assert [len(pivots(quotas, threshold, is_literal=True)) for threshold in (0, 8, 16, 24)] == figures["pivots"]
    assert spent(quotas, [whole(quotas)]) == pytest.approx(figures["whole"])
    assert spent(quotas, fixed_blocks(quotas, 1)) == pytest.approx(figures["layers"])
    cut = blocks(quotas, 0)
    assert len(cut) == figures["number"]
    assert spent(quotas, cut) == pytest.approx(figures["blocks"])
    assert blocks(quotas, 8, is_literal=True) == cut  # steps of 8 cores: above 0 is at least 8
    assert [spent(quotas, fixed_blocks(quotas, length))[0] for length in (6, 11, 20)] == pytest.approx(figures["fixed"])


def test_resnet50_is_cut_at_15_ms_where_the_prototype_cuts_it():
    cut = blocks(quotas_of(published_chain("resnet50"), 15), 0)
    assert [(one.first, one.end, one.cores) for one in cut] == [
        (0, 13, 16), (13, 26, 16), (26, 44, 16), (44, 45, 24), (45, 53, 16),
    ]  # fmt: skip


@pytest.mark.parametrize(("slo_ms", "mean", "most"), [(15, 8.0, 8), (10, 9.404, 16)])
def test_googlenet_needs_what_the_prototype_found(slo_ms, mean, most):
    quotas = quotas_of(published_chain("googlenet"), slo_ms)
    assert (round(quotas.need.mean(), 3), quotas.need.max(), quotas.average) == (mean, most, 8)


@pytest.mark.parametrize("seed", range(30))
def test_blocks_are_those_of_the_algorithm_in_plain_loops(seed):
    draw = random.Random(seed)
    chain = random_chain(draw, layers=draw.randint(1, 9), counts=draw.randint(1, 5))
    slo_ms = (int(chain.total_us.min()) + draw.randint(0, 100)) / 1000
    threshold, is_literal = draw.choice([0, 1, 2, 3.5]), draw.random() < 0.5
    quotas = quotas_of(chain, slo_ms)
    us, cores, macs = chain.us.tolist(), chain.cores.tolist(), chain.macs.tolist()
    quota = [slo_ms * 1000 * one / sum(macs) for one in macs]

    def least(first, end):
        for c, count in enumerate(cores):
            if sum(row[c] for row in us[first:end]) <= sum(quota[first:end]) + 1e-6:
                return count
        return cores[-1]

    average = next(count for c, count in enumerate(cores) if sum(row[c] for row in us) <= slo_ms * 1000 + 1e-6)
    expected, first = [], 0
    while first < len(us):
        end = first + 1
        while end < len(us):
            need, most = least(end, end + 1), average + threshold
            if need > most or (is_literal and need == most):
                break
            end += 1
        expected.append((first, end, least(first, end)))
        first = end
    found = blocks(quotas, threshold, is_literal=is_literal)
    assert [(one.first, one.end, one.cores) for one in found] == expected


def test_the_papers_example_of_thresholds():
    """Averages of 12, 12 and 24 cores on 64 (4.3)."""
    assert list(thresholds(np.array([12, 12, 24]), np.array([1, 1, 1]), 64)) == [4, 4, 8]
    assert list(thresholds(np.array([16]), np.array([5]), 64)) == [0]


def test_a_limit_below_the_fastest_time_is_refused():
    with pytest.raises(InputError, match=r"is 4 ms; the layers of resnet50 take 4.29 ms on 64 cores"):
        quotas_of(published_chain("resnet50"), 4)
