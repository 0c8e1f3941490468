"""Plans that follow rates: when they are made, what they cost, and which requests are late, checked one by one."""

import json
import threading
from random import Random

import numpy as np
import pytest
from problems.instances import ROOT
from problems.simulated_plans import answered, gpu, instance, problem_of, served

from sliceplan.solver.following.counting import ALPHA, estimates, rates_of_periods
from sliceplan.solver.following.epochs import Epoch, Epochs, epochs, held
from sliceplan.solver.following.following import followed
from sliceplan.solver.following.policies.policy import Seen
from sliceplan.solver.following.policies.registry import POLICIES, policy_named
from sliceplan.solver.following.requests import requests_of
from sliceplan.solver.following.serving import latencies_ms
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.formats.rate_tables import read_rate_table
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.runtime.interruption import interruptible_by
from sliceplan.solver.runtime.progress import listening


def arrivals(seed, periods=4, services=2):
    random = np.random.default_rng(seed)
    return [np.sort(random.uniform(0, 20_000 * periods, random.integers(50, 400))) for _ in range(services)]


def test_estimates_are_those_of_a_plain_loop():
    times = arrivals(1)
    found = estimates(times, 4, np.array([5.0, 70.0]))
    for service, own in enumerate(times):
        estimate = (5.0, 70.0)[service]
        for begin in range(0, 80_000, 500):
            rate = sum(begin <= at < begin + 500 for at in own) / 0.5
            estimate = (1 - ALPHA) * estimate + ALPHA * rate
            if (begin + 500) % 20_000 == 0:
                assert found[begin // 20_000, service] == pytest.approx(estimate)
    assert rates_of_periods(times, 4).sum(axis=0) * 20 == pytest.approx([len(own) for own in times])


@pytest.mark.parametrize(
    ("estimate", "planned", "expected"),
    [
        (100.0, 150.0, None),  # below 125: 1.5 times
        (106.0, 150.0, 159.0),  # above by 6 %
        (104.0, 150.0, None),  # by 4 % and 6 requests/s
        (1000.0, 1195.0, None),
        (1005.0, 1195.0, 1206.0),  # by 11 requests/s, which is less than 5 %
        (90.0, 151.0, 135.0),  # below by more than 10 %
    ],
)
def test_gpulets_plans_anew_when_its_thresholds_say_so(estimate, planned, expected):
    seen = Seen(np.array([estimate, 10.0]), np.array([planned, 15.0]), np.array([1.0, 1.0]))
    found = policy_named("gpulets").targets(seen)
    assert (found is None) if expected is None else found.tolist() == pytest.approx([expected, 15.0])


def test_a_plan_for_what_is_seen_in_a_period_serves_from_the_next_but_one():
    """The rate steps up in the third of six periods: its counts are known at its end, so the fifth has the plan."""
    times = [np.concatenate([np.linspace(0, 39_999, 400), np.linspace(40_000, 119_999, 8_000)])]
    asked = []

    def plan_for(rates):
        asked.append(rates[0])
        return answered(problem_of(a=10.0), gpu(0, instance(0, served("a", 10.0))))

    found = epochs(policy_named("gpulets"), times, np.array([10.0]), 6, plan_for)
    assert [epoch.period for epoch in found.of][:2] == [0, 4]
    assert asked[0] == pytest.approx(15.0)
    assert [epoch.period for epoch in epochs(policy_named("foreseen"), times, np.array([10.0]), 6, plan_for).of] == [
        0,
        2,
    ]
    for name in ("fixed", "peak"):
        assert len(epochs(policy_named(name), times, np.array([10.0]), 6, plan_for).of) == 1
    assert asked[-1] == pytest.approx(rates_of_periods(times, 6).max())


def test_the_old_plan_stays_where_there_is_no_new_one():
    times = [np.linspace(0, 99_999, 10_000)]
    plans = iter([answered(problem_of(a=10.0), gpu(0, instance(0, served("a", 10.0)))), *[None] * 9])
    found = epochs(policy_named("gpulets"), times, np.array([10.0]), 5, lambda _: next(plans))
    assert (len(found.of), found.refused) == (1, 3)
    none = epochs(policy_named("fixed"), times, np.array([10.0]), 5, lambda _: None)
    assert none.of == ()
    assert held(none, 5)[0].tolist() == [0] * 5


def test_while_a_plan_is_loaded_the_dearer_one_is_paid_for():
    def plan(gpus, cost):
        made = answered(problem_of(a=10.0), gpu(0, instance(0, served("a", 10.0))))
        return made.model_copy(update={"gpus_used": gpus, "cost_per_hour": cost})

    found = Epochs((Epoch(0, plan(2, 4.0)), Epoch(3, plan(3, 7.0)), Epoch(6, plan(1, 2.0))), 0)
    cost, gpus = held(found, 8)
    assert cost.tolist() == [4, 4, 7, 7, 7, 7, 2, 2]
    assert gpus.tolist() == [2, 2, 3, 3, 3, 3, 1, 1]


def served_one_by_one(problem, times, plans):
    """Returns latencies by following each request: dealt in the plan's proportions, batches as soon as a server can."""
    latencies = []
    for number, workload in enumerate(problem.workloads):
        own = times[number]
        queues = {}
        for period, (begin, plan) in enumerate(plans):
            end = plans[period + 1][0] if period + 1 < len(plans) else float("inf")
            here = [i for i, at in enumerate(own) if begin <= at < end]
            servers = [
                (one.id, part, one.partitions[part].serves[0])
                for one in plan.gpus
                for part in range(len(one.partitions))
                if one.partitions[part].serves[0].workload == workload.name
            ]
            assert len(servers) == 1  # so that nothing depends on how requests are dealt
            gpu_id, part, record = servers[0]
            queues.setdefault((gpu_id, part, record.batch, record.latency_ms), []).extend(here)
        found = {}
        for (_, _, batch, takes_ms), waiting in queues.items():
            free, left = 0.0, sorted(waiting)
            while left:
                start = max(free, own[left[0]])
                taken = [i for i in left[:batch] if own[i] <= start]
                free = start + takes_ms
                found |= {i: free - own[i] for i in taken}
                left = left[len(taken) :]
        latencies.append([found[i] for i in range(len(own))])
    return latencies


@pytest.mark.parametrize("seed", range(12))
def test_requests_are_served_as_one_by_one(seed):
    """Over plans whose partitions stay, move, or change their batches; what waits before one that stays is kept."""
    random = Random(seed)
    problem = problem_of(a=20.0, b=20.0)
    times = arrivals(seed, periods=5)

    def plan():
        places = random.sample(range(4), 2)
        parts = {
            place: served(name, 20.0, batch=random.choice([1, 4]), latency_ms=random.choice([60.0, 400.0]))
            for place, name in zip(places, "ab", strict=True)
        }
        filler = served("c", 1.0)
        return answered(problem, gpu(0, *(instance(i, parts.get(i, filler)) for i in range(4))))

    made = [Epoch(0, plan())]
    for period in (2, 3, 4):
        made.append(Epoch(period, made[-1].plan if random.random() < 0.4 else plan()))
    expected = served_one_by_one(problem, times, _with_gone_ones([(20_000 * one.period, one.plan) for one in made]))
    for own, wanted in zip(latencies_ms(problem, times, made), expected, strict=True):
        np.testing.assert_allclose(own, wanted, atol=1e-6)


def _with_gone_ones(plans):
    """Returns the plans with GPU ids of their own where a partition was gone in between: nothing is kept over a gap."""
    answer, before = [], {}
    for number, (begin, plan) in enumerate(plans):
        now = {
            (one.workload, part, one.batch, one.latency_ms): part
            for g in plan.gpus
            for part, partition in enumerate(g.partitions)
            for one in partition.serves
        }
        stays = {key: before.get(key, number) for key in now}
        gpus = tuple(
            gpu(
                0,
                *(
                    partition if i == part else instance(i, served("c", 1.0))
                    for i, partition in enumerate(g.partitions)
                ),
            ).model_copy(update={"id": f"g{stays[one.workload, part, one.batch, one.latency_ms]}-{part}"})
            for g in plan.gpus
            for part, partition in enumerate(g.partitions)
            for one in partition.serves
            if one.workload != "c"
        )
        answer.append((begin, plan.model_copy(update={"gpus": gpus})))
        before = stays
    return answer


def table(tmp_path, *lines):
    path = tmp_path / "rates.csv"
    path.write_text("\n".join(["seconds,service,rate_rps", *lines]) + "\n")
    return path


def test_rates_are_drawn_as_they_are_said(tmp_path):
    problem = problem_of(a=20.0, b=5.0)
    path = table(tmp_path, "0,a,100", "40,a,0", "60,a,300", "0,b,10", "80,b,10")
    (a, b), periods = requests_of(path, problem, 1)
    assert periods == 5
    for times, begin, end, expected in ((a, 0, 40, 4_000), (a, 40, 60, 0), (a, 60, 100, 12_000), (b, 0, 100, 1_000)):
        number = int(((times >= 1000 * begin) & (times < 1000 * end)).sum())
        assert abs(number - expected) <= 5 * expected**0.5
    again, _ = requests_of(path, problem, 1)
    np.testing.assert_array_equal(again[0], a)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["0,a,100", "10,a"], "line 3.*has 2 cells; the header has 3"),
        (["0,a,x", "10,a,1"], "line 2.*has rate_rps 'x'; expected a number from 0 to 1e"),
        (["5,a,1", "10,a,1"], "begins a at 5 s; expected its first line at 0"),
        (["0,a,1", "10,a,1", "10,a,2"], "has 10 s for a, after 10 s; expected ascending times"),
        (["0,,1"], "names no service"),
        ([], "has no rates"),
        (["0,a,1"], "has one time only"),
    ],
)
def test_wrong_rate_tables_are_refused_with_their_line(tmp_path, lines, said):
    with pytest.raises(InputError, match=f"(?s){said}"):
        read_rate_table(table(tmp_path, *lines))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["0,a,1", "90,a,1"], "has nothing of b"),
        (["0,a,1", "90,a,1", "0,b,1", "0,c,1"], "has c, no services of the problem"),
        (["0,a,1", "20,a,1", "0,b,1"], "covers 40 s; expected at least 60"),
        (["0,a,9e6", "90,a,1", "0,b,1"], "at most 20,000,000 are held at once"),
    ],
)
def test_files_that_do_not_go_with_the_problem_are_refused(tmp_path, lines, said):
    with pytest.raises(InputError, match=said):
        requests_of(table(tmp_path, *lines), problem_of(a=20.0, b=5.0), 1)


def test_recorded_requests_are_taken_as_they_are(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("timestamp,service\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(100)))
    (a, b), periods = requests_of(path, problem_of(a=20.0, b=5.0), 1)
    assert (len(a), len(b), periods) == (40, 40, 4)  # those after the last whole period are left out


def test_every_policy_has_a_row_that_adds_up(tmp_path):
    problem = read_problem(ROOT / "plans" / "demo.yaml", shipped_profiles())
    workloads = problem.workloads[:2]
    problem = problem.model_copy(update={"workloads": workloads})
    lines = [f"{s},{w.name},{w.rate_rps * f}" for w in workloads for s, f in ((0, 0.3), (40, 1.0), (80, 0.2))]
    times, periods = requests_of(table(tmp_path, *lines), problem, 1)
    report = followed(problem, times, periods, list(POLICIES.values()))
    rows = {row.policy: row for row in report.policies}
    assert list(rows) == ["fixed", "peak", "gpulets", "foreseen"]
    assert report.not_run == ()
    for row in rows.values():
        assert [one.requests for one in row.services] == [len(own) for own in times]
        assert row.late == pytest.approx(sum(one.late for one in row.services) / report.requests)
        assert row.gpu_hours <= row.most_gpus * report.seconds / 3600 + 1e-9
    assert rows["fixed"].plans == rows["peak"].plans == 1
    assert rows["foreseen"].usd <= rows["peak"].usd + 1e-9
    assert rows["peak"].late < 0.01
    assert rows["gpulets"].plans > 1
    json.dumps(report.model_dump(mode="json"))


def test_another_policy_is_refused():
    with pytest.raises(InputError, match="is no policy"):
        policy_named("gpulet")


def test_an_interruption_names_the_policies_that_it_came_before(tmp_path):
    problem = read_problem(ROOT / "plans" / "demo.yaml", shipped_profiles())
    problem = problem.model_copy(update={"workloads": problem.workloads[:1]})
    name = problem.workloads[0].name
    times, periods = requests_of(table(tmp_path, f"0,{name},20", f"40,{name},30"), problem, 1)
    stop = threading.Event()

    def set_after(said):
        if said.text == "followed by fixed":
            stop.set()

    with interruptible_by(stop), listening(set_after):
        report = followed(problem, times, periods, list(POLICIES.values()))
    assert [row.policy for row in report.policies] == ["fixed"]
    assert report.not_run == ("peak", "gpulets", "foreseen")
