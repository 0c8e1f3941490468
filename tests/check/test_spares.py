"""`check` tries every case of trouble that a plan's free partitions are to meet: a lost GPU, more rate at once."""

from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import igniter_scalar, slot_chain
from problems.igniter_instances import V100
from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.check import check, spares
from sliceplan.solver.check.free_shares import free_shares, share_rps, unmet_share_losses
from sliceplan.solver.check.spares import MOST_CASES, Need, OnSize, _best_rps, _cases, _points_of, all_placed
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.profile import merged
from sliceplan.solver.performance.prediction import predict

GPU = "A100-80GB"
PROFILES = {profile.model: profile for profile in shipped_profiles() if profile.gpu == GPU}

ANY_PLAN = solve(problem_of([{"model": "bert", "rate_rps": 10, "slo_ms": 500}])).model_dump(mode="json")


def placed(problem, *gpus):
    """
    Returns a feasible plan with these GPUs.

    Each GPU is a list of (MIG profile, start, what it serves): a workload with batch, processes and rate; None: free.
    """
    models = {workload.name: workload.model for workload in problem.workloads}

    def served(mig_profile, workload, batch, processes, rate_rps):
        point = predict(PROFILES[models[workload]], mig_profile, batch, processes)
        figures = {"latency_ms": point.latency_ms, "capacity_rps": point.capacity_rps, "rate_rps": rate_rps}
        point = {"workload": workload, "batch": batch, "processes": processes}
        return point | figures | {"basis": "fitted", "causes_ms": None, "memory_mib": None}

    def partition(mig_profile, start, serves):
        nothing = {"mig_profile": mig_profile, "start": start, "sm_percent": None, "duty_cycle_ms": None}
        return nothing | {"serves": [] if serves is None else [served(mig_profile, *serves)]}

    of_a_gpu = {"gpu": GPU, "node": None, "index": None, "sharing": "mig"}
    numbered = [
        of_a_gpu | {"id": f"{GPU}/{i}", "partitions": [partition(*place) for place in places]}
        for i, places in enumerate(gpus)
    ]
    return ANY_PLAN | {"gpus": numbered}


def found(problem, plan):
    """Returns what is said of the free partitions of a plan, whatever else may be wrong with it."""
    plan = plan | {"problem": reference(problem).model_dump()}
    said = [str(one) for one in check(problem, Plan.model_validate(plan), shipped_profiles())]
    return [one for one in said if one.startswith("plan: if") or "if it is lost" in one]


LOSS = problem_of([{"model": "bert", "rate_rps": 10, "slo_ms": 500}], spare_gpu_loss=True)
SERVES = ("w0", 4, 1, 10.0)


@pytest.mark.parametrize(
    ("gpus", "missing"),
    [
        ([[("1g.10gb", 0, SERVES)], [("1g.10gb", 0, None)]], []),
        ([[("1g.10gb", 0, SERVES), ("1g.10gb", 1, None)]], ["0 are kept free elsewhere"]),
        ([[("1g.10gb", 0, SERVES)], [("2g.20gb", 0, None)]], ["0 are kept free elsewhere"]),
        (
            [[("1g.10gb", 0, ("w0", 4, 1, 5.0)), ("1g.10gb", 1, ("w0", 4, 1, 5.0))], [("1g.10gb", 0, None)]],
            ["2 x A100-80GB 1g.10gb need a place; 1 are kept free elsewhere"],
        ),
    ],
    ids=["elsewhere", "on the lost GPU", "of another size", "too few"],
)
def test_what_ran_on_a_lost_gpu_needs_free_partitions_of_its_sizes_on_others(gpus, missing):
    said = found(LOSS, placed(LOSS, *gpus))
    assert len(said) == len(missing)
    assert all(words in one for words, one in zip(missing, said, strict=True))


def more_rate(rate_rps, slo_ms=500, **settings):
    workloads = [{"model": "bert", "rate_rps": rate_rps, "slo_ms": slo_ms}]
    return problem_of(workloads, spare_services=1, spare_rate=0.5, **settings)


def test_more_rate_is_that_of_the_rate_with_its_headroom():
    """1g with batch 4 carries 94.9/s and, free, at most 144.4: 239 in all, which 150 x 1.5 needs and no headroom."""
    carried = [predict(PROFILES["bert"], "1g.10gb", 4, 1).capacity_rps]
    plain, grown = more_rate(150), more_rate(150, headroom=0.1)
    gpus = [[("1g.10gb", 0, ("w0", 4, 1, carried[0])), ("1g.10gb", 1, None)]]
    assert found(plain, placed(plain, *gpus)) == []
    assert any("need 50% more rate at once" in one for one in found(grown, placed(plain, *gpus)))


def test_every_batch_size_of_a_free_partition_is_tried_and_no_other():
    """Batch 1 takes 13.5 ms on 1g, batch 2 takes 23.2: half of an SLO of 30 ms lets in the first alone."""
    gpus = [[("2g.20gb", 0, ("w0", 1, 1, 60.0)), ("1g.10gb", 2, None)]]
    quick, quicker = more_rate(60, slo_ms=30), more_rate(60, slo_ms=26)
    assert found(quick, placed(quick, *gpus)) == []
    assert any("too few are free" in one for one in found(quicker, placed(quick, *gpus)))
    # With batch 1 the free 1g carries 74.3/s: 66.9 + 74.3 are 141.2 in all.
    for rate_rps, short in ((94, False), (95, True)):
        asked = more_rate(rate_rps, slo_ms=30)
        assert bool(found(asked, placed(quick, *gpus))) is short


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=3),
    st.lists(st.integers(1, 25), min_size=1, max_size=3),
)
def test_services_are_placed_exactly_where_some_choice_of_partitions_carries_all(sizes, missing):
    """Property, by trying every way to deal the free partitions: each size has (rate, how many are free)."""
    free = Counter({("A100-80GB", str(k)): count for k, (_, count) in enumerate(sizes)})
    rates = tuple((("A100-80GB", str(k)), float(rate)) for k, (rate, _) in enumerate(sizes))
    needs = [Need(float(one), rates) for one in missing]

    def dealt(left, counts):
        if not left:
            return True
        ranges = [range(count + 1) for count in counts]
        return any(
            dealt(left[1:], [count - own for count, own in zip(counts, taken, strict=True)])
            for taken in product(*ranges)
            if sum(own * rate for own, (rate, _) in zip(taken, sizes, strict=True)) >= left[0]
        )

    assert all_placed(needs, free) == dealt(missing, [count for _, count in sizes])
    for way in needs[0].ways(free):
        assert all(count <= free[size] for size, count in way.items())
        carried = sum(count * dict(rates)[size] for size, count in way.items())
        assert carried >= missing[0] > carried - min(dict(rates)[size] for size in way)


@pytest.mark.parametrize("settings", [{}, {"max_processes": 2}, {"max_processes": 48}])
@pytest.mark.parametrize("memory_mib", [None, 4000.0, 12000.0])
@pytest.mark.parametrize("size", ["1g.10gb", "3g.40gb"])
def test_operating_points_are_those_that_the_profile_knows_and_memory_and_clients_allow(settings, memory_mib, size):
    """Against predicting every batch size and number of processes one by one."""
    problem, facts = more_rate(10, **settings), load_catalogue()[GPU]
    instance = facts.mig.profile(size)
    found = _points_of(problem, {("bert", GPU): PROFILES["bert"]})("bert", None, memory_mib, (GPU, size))
    expected = []
    for processes in range(1, min(problem.settings.max_processes, facts.mps_client_limit(instance)) + 1):
        for batch in range(1, 300):
            point = predict(PROFILES["bert"], size, batch, processes)
            needed = point and (point.memory_mib if memory_mib is None else memory_mib * processes)
            if point and (needed is None or needed <= instance.memory_mib):
                expected.append((point.latency_ms, point.capacity_rps, batch, processes))
    expected.sort()
    assert found.latency_ms == [one[0] for one in expected]
    assert found.greatest_rps == [max(rps for _, rps, _, _ in expected[: i + 1]) for i in range(len(expected))]
    assert found.points.T.tolist() == [[batch, processes, ms, rps] for ms, rps, batch, processes in expected]
    assert bool(expected) == (memory_mib != 12000.0 or size == "3g.40gb")


def test_operating_points_of_a_profile_without_any_measured_go_as_far_as_its_coefficients():
    (profile,) = (one for one in shipped_profiles() if (one.model, one.gpu) == ("alexnet", V100))
    assert (profile.points, profile.curves) == ((), ())
    known = _points_of(more_rate(10), {("alexnet", V100): profile})("alexnet", None, None, (V100, None))
    assert sorted(known.points[0].tolist()) == list(range(1, profile.interference.measured.max_batch + 1))


def test_cases_are_all_sets_of_services_or_a_sample_that_is_the_same_each_time():
    assert sorted(_cases(["a", "b", "c"], 2)) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(_cases(["a"], 0)) == list(_cases([], 0)) == []
    names = [f"w{i}" for i in range(100)]
    drawn = list(_cases(names, 3))
    assert len(drawn) == MOST_CASES
    assert drawn == list(_cases(names, 3))
    assert all(len(set(one)) == 3 for one in drawn)
    assert len(list(_cases(names[:63], 2))) == 63 * 62 / 2  # 1,953 are all looked at


@pytest.mark.parametrize(
    ("gpus", "limit_ms", "rps"),
    [
        (None, 20.0, 9.0),
        (None, 20.0 * (1 - 5e-7), 9.0),
        (None, 20.0 * (1 - 5e-6), 5.0),
        (None, 9.0, 0.0),
        (None, 99.0, 9.5),
        ((GPU,), 20.0, 9.0),
        (("T4",), 20.0, 0.0),
    ],
)
def test_the_best_of_a_size_is_the_most_within_the_slo_on_gpus_that_the_service_may_use(
    monkeypatch, gpus, limit_ms, rps
):
    monkeypatch.setattr(spares, "execution_may_take_ms", lambda _, slo_ms: slo_ms / 2)
    problem = SimpleNamespace(settings=SimpleNamespace(latency="execution"))
    workload = SimpleNamespace(gpus=gpus, model="m", batch_sizes=None, memory_mib=None, slo_ms=2 * limit_ms)
    known = OnSize([10.0, 20.0, 30.0], [5.0, 9.0, 9.5], None)
    assert _best_rps(problem, workload, (GPU, None), lambda *_: known) == rps


def test_of_too_many_cases_so_many_are_drawn_and_of_as_many_as_are_tried_all(monkeypatch):
    monkeypatch.setattr(spares, "MOST_CASES", 6)
    assert sorted(_cases(list("abcd"), 2)) == [(a, b) for a in "abcd" for b in "abcd" if a < b]
    assert len(list(_cases(list("abcde"), 2))) == 6
    assert list(_cases(list("abcd"), 0)) == []


def test_where_what_partitions_carry_is_no_sum_they_count_as_in_turns_at_any_rate(monkeypatch):
    """One service asks for 0.15 req/s at once; its partition is promised enough for that, and in turns only half."""
    asked = more_rate(0.1)
    gpus = [[("1g.10gb", 0, ("w0", 4, 1, 0.1))]]
    plan = placed(asked, *gpus)
    (served,) = plan["gpus"][0]["partitions"][0]["serves"]
    for carried, in_turns, short in ((0.2, 0.08, False), (0.14, 0.14, True), (0.14, 0.2, False), (0.14, None, True)):
        served["capacity_rps"] = carried
        turns = None if in_turns is None else np.array([in_turns])
        monkeypatch.setattr(spares, "promised_in_turns", lambda *_, turns=turns: turns)
        assert bool(found(asked, plan)) is short, (carried, in_turns)


def test_of_what_is_free_no_more_is_taken_than_is_needed():
    """Ten requests/s by two partitions that carry five or one that carries ten, and not by one of each."""
    need = Need(10.0, ((("x", "1g"), 5.0), (("x", "2g"), 10.0)))
    ways = list(need.ways({("x", "1g"): 4, ("x", "2g"): 4}))
    assert sorted(map(sorted, map(dict.items, ways))) == [[(("x", "1g"), 2)], [(("x", "2g"), 1)]]


@pytest.mark.parametrize(
    ("mig_profile", "needed_mib", "own_mib", "fits"),
    [
        ("1g.10gb", 9728.0, None, True),
        ("1g.10gb", 9729.0, None, False),
        ("1g.10gb", None, None, True),
        ("1g.10gb", 9729.0, 4864.0, True),
        ("1g.10gb", 1.0, 4865.0, False),
        ("7g.180gb", 999_999.0, None, True),
    ],
)
def test_a_point_fits_where_its_memory_does_or_one_of_the_two_is_unknown(
    monkeypatch, mig_profile, needed_mib, own_mib, fits
):
    """Two processes; of the whole B200 as an instance the catalogue does not know the memory."""
    gpu = "B200-180GB" if mig_profile == "7g.180gb" else GPU
    one = SimpleNamespace(latency_ms=5.0, capacity_rps=7.0, memory_mib=needed_mib)
    monkeypatch.setattr(spares, "predict_batches", lambda _p, _m, _sizes, processes: [one if processes == 2 else None])
    profile = SimpleNamespace(points=(), curves=(), interference=None)
    found = _points_of(more_rate(10, max_processes=2), {("m", gpu): profile})("m", (3,), own_mib, (gpu, mig_profile))
    assert found.points.T.tolist() == ([[3.0, 2.0, 5.0, 7.0]] if fits else [])


def test_a_model_without_a_profile_of_a_size_is_not_served_there():
    found = _points_of(more_rate(10), {})("bert", None, None, (GPU, "1g.10gb"))
    assert (found.latency_ms, found.greatest_rps, found.points.shape) == ([], [], (4, 0))


@pytest.mark.parametrize(("own_quantile", "quantile"), [(None, 0.95), (0.9, 0.9)])
def test_of_a_percentile_the_best_of_a_size_is_the_most_that_any_point_is_promised(monkeypatch, own_quantile, quantile):
    """Asked with the SLO, the quantile and the rate with its headroom that the service has."""
    asked = []
    monkeypatch.setattr(spares, "promised_rps", lambda _, on: asked.append(on) or np.array([3.0, 8.0, 5.0]))
    settings = SimpleNamespace(latency="percentile", quantile=0.95, headroom=0.5)
    workload = SimpleNamespace(
        gpus=None, model="m", batch_sizes=None, memory_mib=None, slo_ms=40.0, rate_rps=10.0, slo_quantile=own_quantile
    )
    known = OnSize([], [], np.arange(12.0).reshape(4, 3))
    assert _best_rps(SimpleNamespace(settings=settings), workload, (GPU, None), lambda *_: known) == 8.0
    (on,) = asked
    assert on.batch.tolist() == [0.0, 1.0, 2.0]
    assert (set(on.slo_ms), set(on.quantile), set(on.rate_rps)) == ({40.0}, {quantile}, {15.0})
    monkeypatch.setattr(spares, "promised_rps", lambda *_: np.zeros(0))
    assert _best_rps(SimpleNamespace(settings=settings), workload, (GPU, None), lambda *_: known) == 0.0


def under_mps(*gpus):
    """Returns a plan of V100s with these shares, each its percent and what it serves; None: free."""
    served = ANY_PLAN["gpus"][0]["partitions"][0]["serves"][0] | {"workload": "w0", "memory_mib": 9000.0}
    shared = {"gpu": "V100-SXM2-16GB", "node": None, "index": None, "sharing": "mps"}
    nothing = {"mig_profile": None, "start": None, "duty_cycle_ms": None}
    numbered = [
        shared
        | {
            "id": f"V100-SXM2-16GB/{i}",
            "partitions": [
                nothing | {"sm_percent": percent, "serves": [served] if serves else []} for percent, serves in shares
            ],
        }
        for i, shares in enumerate(gpus)
    ]
    return Plan.model_validate(ANY_PLAN | {"gpus": numbered})


SHARED = problem_of(
    [{"model": "resnet50", "rate_rps": 10, "slo_ms": 200}], fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}],
    turns="fixed", spare_services=1, spare_rate=0.5,
)  # fmt: skip


@pytest.mark.parametrize(
    ("gpus", "unmet"),
    [
        ([[(60.0, True), (20.0, True)], [(80.0, False)]], 0),
        ([[(60.0, True), (20.0, True)], [(40.0, False), (40.0, False)]], 0),
        ([[(60.0, True), (20.0, True)], [(75.0, False)]], 1),
        ([[(60.0, True)], [(60.0, False), (10.0, True)]], 2),
        ([[(60.0, True)], [(60.0, True)], [(60.0, False)]], 0),
    ],
    ids=["one share", "two shares", "too small", "beside others", "one for any"],
)
def test_what_ran_on_a_lost_gpu_under_mps_needs_one_that_serves_nothing(gpus, unmet):
    assert len(list(unmet_share_losses(under_mps(*gpus)))) == unmet


def test_shares_that_are_free_count_where_nobody_slows_those_who_take_them():
    slowing = merged(shipped_profiles())
    alone = {key: one.model_copy(update={"interference": None, "neighbours": None}) for key, one in slowing.items()}
    plan = under_mps([(60.0, False)], [(50.0, False), (50.0, False)], [(30.0, True), (40.0, False)])
    gpu = "V100-SXM2-16GB"
    assert free_shares(SHARED, plan, slowing) == {(gpu, "60 %"): 1}
    # On the last GPU those who are served have 9,000 of its 16,160 MiB, and leave less than the 40 % of a free share.
    assert free_shares(SHARED, plan, alone) == {(gpu, "60 %"): 1, (gpu, "50 %"): 2, (gpu, "40 %"): 1}
    assert free_shares(SHARED, under_mps([(30.0, True), (45.0, False)]), alone) == {}


def test_what_a_service_carries_on_a_free_share_is_what_it_carries_alone():
    profiles = merged(shipped_profiles())
    share, workload = ("V100-SXM2-16GB", "50 %"), SHARED.workloads[0]
    known = profiles["resnet50", "V100-SXM2-16GB"].interference
    sizes = range(known.measured.min_batch, known.measured.max_batch + 1)
    figures = [igniter_scalar.predict(known.gpu, [(known.model, batch, 50.0)])[0] for batch in sizes]
    best = max(one.throughput_rps for one in figures if one.latency_ms <= 100)
    assert share_rps(SHARED, workload, share, profiles) == pytest.approx(best)
    assert share_rps(SHARED, workload.model_copy(update={"gpus": ("A100-80GB",)}), share, profiles) == 0
    assert share_rps(SHARED, workload.model_copy(update={"memory_mib": 9000.0}), share, profiles) == 0
    assert share_rps(SHARED, workload.model_copy(update={"model": "nobody"}), share, profiles) == 0
    at_random = SHARED.model_copy(
        update={"settings": SHARED.settings.model_copy(update={"latency": "percentile", "quantile": 0.99})}
    )
    best = max(
        slot_chain.turn_rps(batch, one.latency_ms, 200 - one.latency_ms, 0.99)
        for batch, one in zip(sizes, figures, strict=True)
        if batch <= 16 and 2 * one.latency_ms <= 200
    )
    few = workload.model_copy(update={"batch_sizes": tuple(range(1, 17))})
    assert share_rps(at_random, few, share, profiles) == pytest.approx(best)
