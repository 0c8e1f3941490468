"""Coefficients carried to another GPU type by roofline ratios."""

import numpy as np
import pytest
from problems.igniter_instances import SHIPPED, V100

from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.interference.igniter import alone
from sliceplan.solver.performance.interference.roofline import carried

PROFILES = {(p.model, p.gpu): p for p in shipped_profiles()}
CATALOGUE = load_catalogue()


def test_an_estimate_says_so_and_scales_by_the_worse_of_the_two_ratios():
    t4 = carried(PROFILES["resnet50", V100], CATALOGUE[V100], CATALOGUE["T4"])
    assert t4.quality == "estimated"
    assert t4.interference.estimated_from == V100
    memory = CATALOGUE[V100].memory_bandwidth_gb_s.value / CATALOGUE["T4"].memory_bandwidth_gb_s.value
    assert memory > CATALOGUE[V100].sm_count.value / CATALOGUE["T4"].sm_count.value
    assert t4.interference.model.active[1] == pytest.approx(SHIPPED["resnet50"].model.active[1] * memory)
    assert t4 == PROFILES["resnet50", "T4"]


@pytest.mark.parametrize("model", SHIPPED)
def test_a_gpu_of_a_quarter_of_the_power_draws_the_same_part_of_its_limit(model):
    t4 = carried(PROFILES[model, V100], CATALOGUE[V100], CATALOGUE["T4"]).interference
    batch = np.array([1, 16, 32])
    parts = [alone(known, batch).power_w / known.gpu.max_power_w for known in (t4, SHIPPED[model])]
    np.testing.assert_allclose(parts[0], parts[1], rtol=1e-5)


def test_carried_to_itself_it_stays_the_same_but_for_its_mark():
    same = carried(PROFILES["ssd", V100], CATALOGUE[V100], CATALOGUE[V100]).interference
    assert same.model == SHIPPED["ssd"].model
    assert same.gpu == SHIPPED["ssd"].gpu


def test_an_estimate_of_an_estimate_and_a_profile_without_coefficients_are_refused():
    with pytest.raises(ValueError, match="an estimate from"):
        carried(PROFILES["ssd", "T4"], CATALOGUE["T4"], CATALOGUE["L4"])
    with pytest.raises(ValueError, match="no interference coefficients"):
        carried(PROFILES["bert", "A100-80GB"], CATALOGUE["A100-80GB"], CATALOGUE["L4"])


def test_a_type_of_which_a_needed_figure_is_not_known_is_refused_with_the_reason():
    with pytest.raises(InputError, match="H20-96GB: max_clock_mhz is not known of this GPU type"):
        carried(PROFILES["ssd", V100], CATALOGUE[V100], CATALOGUE["H20-96GB"])
