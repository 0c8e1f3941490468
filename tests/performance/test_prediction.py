"""What a profile predicts for one operating point, and at its best, against the formula of the curve by hand."""

import pytest

from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.prediction import peak_rps, predict, predict_batches, predict_whole

BERT = next(p for p in shipped_profiles() if (p.model, p.gpu) == ("bert", "A100-80GB"))


def measured(**points):
    """Returns a profile with one point of a throughput on each MIG profile, an underscore for the dot."""
    rows = [
        {"mig_profile": name.replace("_", ".").removeprefix("p"), "batch": 1, "processes": 1, "latency_ms": 1000 / rps,
         "throughput_rps": rps}
        for name, rps in points.items()
    ]  # fmt: skip
    return type(BERT).model_validate({**BERT.model_dump(mode="json"), "curves": [], "points": rows})


def by_hand(mig_profile, processes, batch):
    """t^s = floor^s + (per_item b^q)^s of the curve for a number of processes."""
    (curve,) = [one for one in BERT.curves if (one.mig_profile, one.processes) == (mig_profile, processes)]
    busy = curve.per_item_ms * batch**curve.exponent
    return (curve.floor_ms**curve.sharpness + busy**curve.sharpness) ** (1 / curve.sharpness)


def test_the_peak_is_that_of_the_mig_profile_that_is_asked_for():
    profile = measured(p1g_10gb=100.0, p2g_20gb=230.0)
    assert peak_rps(profile, "1g.10gb") == 100.0
    assert peak_rps(profile, "2g.20gb") == 230.0
    assert peak_rps(profile, "7g.80gb") is None


@pytest.mark.parametrize("mig_profile", ["1g.10gb", "3g.40gb", "7g.80gb"])
def test_the_peak_of_curves_is_the_greatest_over_all_batch_sizes_and_processes(mig_profile):
    curves = [one for one in BERT.curves if one.mig_profile == mig_profile]
    best = max(
        1000 * one.processes * batch / by_hand(mig_profile, one.processes, batch)
        for one in curves
        for batch in range(1, one.max_batch + 1)
    )
    assert peak_rps(BERT, mig_profile) == pytest.approx(best)


def test_an_operating_point_is_that_of_its_own_curve():
    for curve in BERT.curves:
        found = predict(BERT, curve.mig_profile, curve.max_batch, curve.processes)
        time_ms = by_hand(curve.mig_profile, curve.processes, curve.max_batch)
        assert found.latency_ms == pytest.approx(time_ms)
        assert found.capacity_rps == pytest.approx(1000 * curve.processes * curve.max_batch / time_ms)
        assert predict(BERT, curve.mig_profile, curve.max_batch + 1, curve.processes) is None


@pytest.mark.parametrize("mig_profile", ["1g.10gb", "7g.80gb", None])
@pytest.mark.parametrize("processes", [1, 3])
def test_many_batch_sizes_at_once_are_each_of_them(mig_profile, processes):
    whole = {"sm_percent": 100, "batch": 4, "processes": 1, "latency_ms": 9, "throughput_rps": 400}
    data = measured(p1g_10gb=100.0, p7g_80gb=700.0).model_dump(mode="json")
    on_whole_gpus = type(BERT).model_validate({**data, "points": [*data["points"], whole]})
    sizes = [1, 2, 3, 4, 7, 64, 4096]
    for profile in (BERT, on_whole_gpus):
        one_by_one = [
            predict_whole(profile, batch, processes)
            if mig_profile is None
            else predict(profile, mig_profile, batch, processes)
            for batch in sizes
        ]
        assert predict_batches(profile, mig_profile, sizes, processes) == one_by_one
