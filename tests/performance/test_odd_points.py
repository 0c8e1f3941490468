"""Measured points that a curve misses by far: what is written in a profile is read again."""

import pytest

from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.profile import Profile, Provenance
from sliceplan.solver.performance.odd_points import OddPoint, odd_points
from sliceplan.solver.performance.prediction import predict


def profile(*texts):
    one = next(one for one in shipped_profiles() if one.model == "vgg16" and one.gpu == "A100-80GB")
    return one.model_copy(update={"odd_points": texts})


def test_what_is_written_is_read_and_other_texts_are_not():
    one = OddPoint("4g.40gb", 8, 3, 50.3, 61.5)
    assert str(one) == "4g.40gb b8 p3: measured 50.3 ms, fitted 61.5 ms"
    assert odd_points(profile(str(one), "20 % b8: 90000 req/s are more than can be")) == (one,)
    assert odd_points(Profile(model="m", gpu="A30-24GB", provenance=Provenance(source="s", method="m"), **POINT)) == ()


POINT = {"points": [{"mig_profile": "1g.6gb", "batch": 1, "processes": 1, "latency_ms": 5, "throughput_rps": 200}]}


def test_requests_per_second_are_those_of_all_processes():
    assert OddPoint("7g.80gb", 32, 3, 204.7, 161.5).measured_rps == pytest.approx(3 * 32 / 0.2047)


@pytest.mark.parametrize("known", [one for one in shipped_profiles() if one.odd_points], ids=lambda one: one.model)
def test_every_shipped_one_is_a_point_whose_fitted_time_is_its_curves(known):
    found = odd_points(known)
    assert len(found) == len(known.odd_points)
    for one in found:
        predicted = predict(known, one.mig_profile, one.batch, one.processes)
        assert predicted.latency_ms == pytest.approx(one.fitted_ms, abs=0.06)
        assert abs(one.fitted_ms / one.measured_ms - 1) > 0.19
