"""Profiles that are carried to another GPU type: by ratios that are computed here again, cautious, and marked."""

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.api import check, solve
from sliceplan.solver.formats.profile_files import read_profiles, shipped_profiles, write_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.profile import MeasuredPoint, Profile, merged
from sliceplan.solver.performance.estimating import MARGIN, estimated, nearest
from sliceplan.solver.performance.interference.roofline import carried
from sliceplan.solver.performance.operating_points import operating_points

CATALOGUE = load_catalogue()
PROFILES = {(one.model, one.gpu): one for one in shipped_profiles()}
A100, V100 = "A100-80GB", "V100-SXM2-16GB"
BERT = PROFILES["bert", A100]


def to(gpu, profile=BERT, margin=MARGIN):
    return estimated(profile, CATALOGUE[profile.gpu], CATALOGUE[gpu], margin)


def curve(profile, size, processes=1):
    (found,) = [one for one in profile.curves if (one.mig_profile, one.processes) == (size, processes)]
    return found


def test_an_instance_with_as_many_sms_and_less_bandwidth_is_slower_by_the_bandwidth_and_the_margin():
    # 2,039 GB/s in 8 memory slices against 1,555: 4g.40gb has four of both, and 56 SMs there and here.
    there, here = curve(to("A100-40GB"), "4g.20gb"), curve(BERT, "4g.40gb")
    bandwidth = [CATALOGUE[gpu].memory_bandwidth_gb_s.value for gpu in (A100, "A100-40GB")]
    assert there.per_item_ms == pytest.approx(here.per_item_ms * bandwidth[0] / bandwidth[1] * 1.25, rel=1e-4)
    assert there.floor_ms == pytest.approx(here.floor_ms * bandwidth[0] / bandwidth[1] * 1.25, rel=1e-4)


def test_what_does_not_shrink_with_more_sms_is_never_shorter():
    there, here = curve(to("H100-80GB-SXM"), "7g.80gb"), curve(BERT, "7g.80gb")
    h100, a100 = CATALOGUE["H100-80GB-SXM"], CATALOGUE[A100]
    sms = a100.mig.profile("7g.80gb").sm_count * a100.max_clock_mhz.value
    sms /= h100.mig.profile("7g.80gb").sm_count * h100.max_clock_mhz.value
    bandwidth = a100.memory_bandwidth_gb_s.value / h100.memory_bandwidth_gb_s.value
    tensor = a100.tensor_fp16_dense_tflops.value / h100.tensor_fp16_dense_tflops.value
    parts = 98 / 108, h100.mig.profile("7g.80gb").sm_count / h100.sm_count.value
    slower = max(sms, bandwidth, tensor * parts[0] / parts[1])
    assert slower < 1
    assert there.floor_ms == pytest.approx(here.floor_ms * 1.25, rel=1e-4)
    assert there.per_item_ms == pytest.approx(here.per_item_ms * slower * 1.25, rel=1e-4)


@pytest.mark.parametrize("gpu", [name for name in CATALOGUE if name != A100])
def test_whole_curves_come_out_for_every_type_whose_memory_suffices(gpu):
    most = max(size.memory_mib or 0 for size in CATALOGUE[gpu].mig.profiles) if CATALOGUE[gpu].mig else 0
    least = CATALOGUE[A100].mig.profile("1g.10gb").memory_mib
    if max(most, CATALOGUE[gpu].memory_mib) < least:
        with pytest.raises(InputError, match="no partition there has as much memory"):
            to(gpu)
        return
    found = to(gpu)
    assert found.quality == "estimated"
    assert bool(found.curves) == bool(CATALOGUE[gpu].mig)
    assert found.share_estimate.margin == MARGIN
    for size, points in operating_points(found).items():
        memory = CATALOGUE[gpu].memory_mib if size == "whole GPU" else CATALOGUE[gpu].mig.profile(size).memory_mib
        assert memory is None or memory >= least
        order = np.lexsort((points.batch, points.processes))
        same = np.diff(points.processes[order]) == 0
        assert (np.diff(points.latency_ms[order])[same] >= 0).all()


def test_a_batch_that_was_only_seen_in_more_memory_is_left_out():
    densenet = PROFILES["densenet121", A100]
    for one in to("A100-40GB", densenet).curves:
        memory = CATALOGUE["A100-40GB"].mig.profile(one.mig_profile).memory_mib
        fitted = [
            other.max_batch
            for other in densenet.curves
            if other.processes == one.processes and CATALOGUE[A100].mig.profile(other.mig_profile).memory_mib <= memory
        ]
        assert one.max_batch <= max(fitted)
    assert not [one for one in to("A100-40GB", densenet).curves if one.mig_profile == "1g.5gb"]


def test_coefficients_are_carried_as_the_roofline_says_with_the_margin_on_the_active_time():
    v100 = PROFILES["ssd", V100]
    plain, found = carried(v100, CATALOGUE[V100], CATALOGUE["L4"]).interference, to("L4", v100).interference
    assert to("L4", v100, 0.0).interference == plain
    assert found.margin == MARGIN
    for i, (with_margin, without) in enumerate(zip(found.model.active, plain.model.active, strict=True)):
        assert with_margin == pytest.approx(without * (1 if i == 3 else 1.25), rel=1e-5)


def test_coefficients_give_points_on_mig_instances():
    found = to(A100, PROFILES["resnet50", V100])
    sizes = {point.mig_profile for point in found.mig_points}
    # 16 GB were measured, so nothing says that it fits into 10.
    assert sizes == {"1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}
    assert found.basis("mig") == "estimated"


def test_points_at_shares_stay_at_their_shares():
    points = tuple(
        MeasuredPoint(sm_percent=share, batch=batch, processes=1, latency_ms=ms, throughput_rps=1000 * batch / ms)
        for share, batch, ms in ((50, 1, 8.0), (50, 4, 20.0), (100, 1, 6.0), (100, 4, 11.0))
    )
    measured = Profile(model="ours", gpu=V100, provenance=BERT.provenance, points=points)
    found = to("V100-SXM2-32GB", measured)
    assert [(p.sm_percent, p.batch) for p in found.points] == [(p.sm_percent, p.batch) for p in points]
    assert [p.latency_ms for p in found.points] == pytest.approx([1.25 * p.latency_ms for p in points])


def test_an_estimate_is_no_source_of_another_and_the_most_alike_type_is_the_first():
    with pytest.raises(InputError, match="it is an estimate itself"):
        to("H100-80GB-SXM", to("A100-40GB"))
    found = nearest("resnet50", CATALOGUE["A100-40GB"], [*PROFILES.values(), to("H100-80GB-SXM")], CATALOGUE)
    assert [one.gpu for one in found] == [A100, V100, "H200-141GB"]


def test_measurements_over_an_estimate_are_measured_again():
    point = MeasuredPoint(mig_profile="7g.40gb", batch=1, processes=1, latency_ms=9.0, throughput_rps=110.0)
    measured = Profile(model="bert", gpu="A100-40GB", provenance=BERT.provenance, points=(point,))
    both = merged([to("A100-40GB"), measured])["bert", "A100-40GB"]
    assert both.basis("mig") == "measured"
    assert both.basis("exclusive") == "estimated"


def test_a_plan_says_that_it_rests_on_an_estimate_and_with_which_margin(tmp_path):
    write_profiles([to("A30-24GB"), to("L4")], tmp_path / "estimates.yaml")
    made = read_profiles(tmp_path / "estimates.yaml")
    assert made == [to("A30-24GB"), to("L4")]
    fleet = [{"gpu": "A30-24GB", "count": 1, "price_per_hour": 0.1}, {"gpu": "L4", "sharing": ["exclusive"]}]
    problem = problem_of([{"model": "bert", "rate_rps": 450, "slo_ms": 400}], fleet=fleet)
    plan = solve(problem, profiles=made)
    assert {gpu.gpu for gpu in plan.gpus} == {"A30-24GB", "L4"}
    assert {one.basis for gpu in plan.gpus for part in gpu.partitions for one in part.serves} == {"estimated"}
    for gpu in ("A30-24GB", "L4"):
        said = f"bert on {gpu} is estimated from {A100} by roofline ratios, 25% added to its times"
        assert any(said in warning for warning in plan.warnings)
    assert not check(problem, plan, made)


def test_how_far_estimates_are_off_where_the_truth_is_known():
    """Each MIG size of the A100 from its other sizes: what docs/explanation/performance-models.md states."""
    ratios = []
    for profile in (one for one in PROFILES.values() if one.curves):
        known = operating_points(profile)
        for size in known:
            rest = tuple(one for one in profile.curves if one.mig_profile != size)
            found = operating_points(to(A100, profile.model_copy(update={"curves": rest}))).get(size)
            if found is None:
                continue
            pairs = zip(found.batch.tolist(), found.processes.tolist(), strict=True)
            there = dict(zip(pairs, found.latency_ms.tolist(), strict=True))
            for batch, processes, ms in zip(
                known[size].batch.tolist(), known[size].processes.tolist(), known[size].latency_ms.tolist(), strict=True
            ):
                if batch & (batch - 1) == 0 and (batch, processes) in there:
                    ratios.append(there[batch, processes] / ms)
    assert len(ratios) == 898
    assert sum(ratio < 1 for ratio in ratios) == 21
    assert min(ratios) == pytest.approx(0.84, abs=0.005)
    assert np.median(ratios) == pytest.approx(1.44, abs=0.01)


def test_how_far_estimates_are_off_between_two_types_that_others_measured():
    ratios = []
    for model in ("resnet50", "vgg19"):
        known = operating_points(PROFILES[model, A100])
        found = operating_points(to(A100, PROFILES[model, V100]))
        for size in found.keys() & known.keys():
            there = dict(zip(found[size].batch.tolist(), found[size].latency_ms.tolist(), strict=True))
            one = known[size].where(known[size].processes == 1)
            pairs = zip(one.batch.tolist(), one.latency_ms.tolist(), strict=True)
            ratios += [there[batch] / ms for batch, ms in pairs if batch & (batch - 1) == 0 and batch in there]
    assert len(ratios) == 48
    assert sum(ratio < 1 for ratio in ratios) == 4
    assert min(ratios) == pytest.approx(0.68, abs=0.005)
    assert np.median(ratios) == pytest.approx(2.3, abs=0.1)
