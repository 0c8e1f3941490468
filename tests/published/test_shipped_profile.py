"""The shipped A100-80GB profile against the measurements of the ParvaGPU artifact that it was fitted to."""

import os
from pathlib import Path

import numpy as np
import pytest
from support.needs import PUBLISHED, reason

from sliceplan.solver.formats.parvagpu import read_parvagpu
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.profile import MeasuredPoint, Profile
from sliceplan.solver.performance.fitting import fit_curve, fit_error, fit_profile, measured_time_ms, relative_errors
from sliceplan.solver.performance.saturating import batch_time_ms

MODELS = (
    "bert",
    "densenet121",
    "densenet169",
    "densenet201",
    "inceptionv3",
    "mobilenetv2",
    "resnet101",
    "resnet152",
    "resnet50",
    "vgg16",
    "vgg19",
)

REFERENCE = Path(os.environ.get("SLICEPLAN_REFERENCE") or Path(__file__).parents[2] / ".." / "shared" / "reference")
FOLDER = REFERENCE / "parvagpu" / "prof_data"

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=reason(PUBLISHED, f"the published measurements are not in {FOLDER}")
)

MAX_PROCESSES = 3


@pytest.fixture(scope="module")
def measured() -> dict[str, Profile]:
    return {profile.model: profile for profile in read_parvagpu(FOLDER)}


@pytest.fixture(scope="module")
def shipped() -> dict[str, Profile]:
    profiles = [profile for profile in shipped_profiles() if "ParvaGPU" in profile.provenance.source]
    return {profile.model: profile for profile in profiles}


def points_of(profile: Profile, mig_profile: str, processes: int) -> list[MeasuredPoint]:
    return [point for point in profile.points if (point.mig_profile, point.processes) == (mig_profile, processes)]


def test_every_published_model_is_shipped_and_no_other(
    measured: dict[str, Profile], shipped: dict[str, Profile]
) -> None:
    assert tuple(measured) == MODELS
    assert tuple(shipped) == MODELS


def test_the_published_latency_and_the_time_that_the_throughput_implies_agree(measured: dict[str, Profile]) -> None:
    points = [point for profile in measured.values() for point in profile.points if point.processes <= MAX_PROCESSES]
    apart = [point for point in points if abs(measured_time_ms(point) - point.latency_ms) > 1]
    assert apart == []


@pytest.mark.parametrize("model", MODELS)
def test_the_stated_errors_are_those_of_the_stated_coefficients(
    model: str, measured: dict[str, Profile], shipped: dict[str, Profile]
) -> None:
    profile = shipped[model]
    errors = []
    for curve in profile.curves:
        points = points_of(measured[model], curve.mig_profile, curve.processes)
        errors.append(relative_errors(curve, points))
        assert curve.error == fit_error(errors[-1])
        assert curve.max_batch == max(point.batch for point in points)
    assert profile.error == fit_error(np.concatenate(errors))


@pytest.mark.parametrize("model", MODELS)
def test_95_percent_of_the_measured_points_are_met_within_10_percent(
    model: str, measured: dict[str, Profile], shipped: dict[str, Profile]
) -> None:
    """Over every measured point of 1 to 3 processes on all sizes; none is left out."""
    errors = [
        error
        for curve in shipped[model].curves
        for error in relative_errors(curve, points_of(measured[model], curve.mig_profile, curve.processes))
    ]
    assert len(errors) == sum(point.processes <= MAX_PROCESSES for point in measured[model].points)
    assert np.percentile(errors, 95) <= 0.10


@pytest.mark.parametrize("model", MODELS)
def test_fitting_again_predicts_the_same_times(
    model: str, measured: dict[str, Profile], shipped: dict[str, Profile]
) -> None:
    """
    Of one model all curves, of each other one every third, from another on than of the one before: all sizes and
    numbers of processes have their turn. What all curves state is compared with what was measured above.
    """
    first = MODELS.index(model)
    curves = shipped[model].curves[first % 3 :: 3]
    if first == 0:
        whole = fit_profile(measured[model], MAX_PROCESSES)
        assert whole.provenance == shipped[model].provenance
        assert len(whole.odd_points) == len(shipped[model].odd_points)
        curves, again = shipped[model].curves, whole.curves
    else:
        again = tuple(fit_curve(points_of(measured[model], one.mig_profile, one.processes)) for one in curves)
    assert len(curves) >= 4
    for old, new in zip(curves, again, strict=True):
        batches = np.arange(1, old.max_batch + 1)
        assert (old.mig_profile, old.processes, old.max_batch) == (new.mig_profile, new.processes, new.max_batch)
        np.testing.assert_allclose(batch_time_ms(new, batches), batch_time_ms(old, batches), rtol=0.01)
