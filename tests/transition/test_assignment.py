"""The assignment against every way to deal the GPUs, and what counts as the same."""

from itertools import permutations
from math import inf
from types import SimpleNamespace

import pytest
from ortools.math_opt.python import mathopt
from problems.plan_pairs import pairs

from sliceplan.solver.transition import assignment
from sliceplan.solver.transition.assignment import deal_the_rest, least_disturbance
from sliceplan.solver.transition.matches import matches, placed
from sliceplan.solver.transition.tenancies import IdleGpus, RealGpu, Tenancy, WantedGpu, real_gpus, wanted_gpus


def instance(profile, start, workload):
    return Tenancy("mig", profile, start, None, ((workload, 1, 1),), ((workload, 10.0),))


def brute_force(real, wanted, both):
    """Returns the fewest disturbed services and, of those, the fewest partitions that move, over all assignments."""
    best = None
    ways = {
        (i, j): [None, *(matches(one.gpu, one.runs, other.wants) if one.gpu == other.gpu else [])]
        for i, one in enumerate(real)
        for j, other in enumerate(wanted)
    }

    def choices(order, j):
        if j == len(wanted):
            yield ()
            return
        for match in ways[order[j], j]:
            for rest in choices(order, j + 1):
                yield (match, *rest)

    for order in permutations(range(len(real)), len(wanted)):
        for chosen in choices(order, 0):
            stays = {i: placed(real[i].runs, wanted[j].wants, chosen[j])[0] for j, i in enumerate(order)}
            moved = [one for i, gpu in enumerate(real) for n, one in enumerate(gpu.runs) if n not in stays.get(i, ())]
            services = {workload for one in moved for workload in one.workloads} & both
            entry = len(services), sum(bool(set(one.workloads) & both) for one in moved)
            best = entry if best is None else min(best, entry)
    return best


def test_no_other_assignment_disturbs_fewer_services_or_moves_fewer_partitions():
    tried = 0
    for name, old, new in pairs(range(600, 620), most_services=4, plans=4):
        if max(len(old.gpus), len(new.gpus)) > 3:
            continue
        real, wanted = real_gpus(old, new, IdleGpus()), wanted_gpus(new)
        both = {w for gpu in real for one in gpu.runs for w in one.workloads}
        both &= {w for gpu in wanted for one in gpu.wants for w in one.workloads}
        found = least_disturbance(real, wanted, both, time_limit_s=5)
        stays = {i: placed(real[i].runs, wanted[j].wants, found.match[j])[0] for j, i in enumerate(found.real)}
        moved = [one for i, gpu in enumerate(real) for n, one in enumerate(gpu.runs) if n not in stays.get(i, ())]
        services = {workload for one in moved for workload in one.workloads} & both
        tried += 1
        assert found.proven
        assert len(services) == found.fewest_services == brute_force(real, wanted, both)[0], name
        ended = [one for one in moved if not set(one.workloads) & both]
        if not ended:
            assert len(moved) == brute_force(real, wanted, both)[1], name
    assert tried > 30


def test_an_unfinished_search_gives_an_assignment_and_no_false_limit():
    for _, old, new in pairs(range(640, 644)):
        real, wanted = real_gpus(old, new, IdleGpus()), wanted_gpus(new)
        both = {w for gpu in real for one in gpu.runs for w in one.workloads}
        proven = least_disturbance(real, wanted, both, time_limit_s=5)
        hasty = least_disturbance(real, wanted, both, time_limit_s=1e-9)
        assert sorted(hasty.real) == sorted(set(hasty.real))
        assert len(hasty.real) == len(wanted)
        assert hasty.fewest_services is None or hasty.fewest_services <= proven.fewest_services


def test_instances_may_stand_elsewhere_so_that_more_of_what_runs_can_stay():
    runs = (instance("1g.10gb", 6, "a"), instance("3g.40gb", 0, "b"))
    wants = (instance("3g.40gb", 4, "b"), instance("1g.10gb", 0, "a"), instance("1g.10gb", 1, "c"))
    best, *others = matches("A100-80GB", runs, wants)
    assert (best.count, others) == (2, [])
    stay, coming = placed(runs, wants, best)
    assert stay == [0, 1]
    assert [(one.mig_profile, one.workloads) for one in coming] == [("1g.10gb", ("c",))]
    assert coming[0].start in (4, 5)
    assert matches("A100-80GB", runs, wants, fixed_starts=True) == []


@pytest.mark.parametrize("fixed_starts", [False, True])
def test_gpus_with_the_same_services_at_other_starts_are_told_apart_where_starts_are_fixed(fixed_starts):
    parts = [[instance("3g.40gb", start, "ab"[start // 4 ^ g]) for start in (0, 4)] for g in (0, 1)]
    real = [RealGpu(f"x/{g}", "A100-80GB", None, None, f"x/{g}", "mig", tuple(on)) for g, on in enumerate(parts)]
    wanted = [WantedGpu(f"y/{g}", "A100-80GB", "mig", tuple(on)) for g, on in enumerate(reversed(parts))]
    found = least_disturbance(real, wanted, {"a", "b"}, fixed_starts=fixed_starts, time_limit_s=5)
    assert (found.fewest_services, found.proven) == (0, True)
    assert [match.count for match in found.match] == [2, 2]
    if fixed_starts:
        assert found.real == (1, 0)


def test_another_batch_size_or_number_of_processes_is_another_process():
    runs = (instance("1g.10gb", 0, "a"),)
    wants = (Tenancy("mig", "1g.10gb", 0, None, (("a", 2, 1),), (("a", 10.0),)),)
    assert matches("A100-80GB", runs, wants) == []


def test_where_not_all_can_stay_every_choice_between_them_is_a_match():
    runs = (instance("1g.10gb", 0, "a"), instance("1g.10gb", 6, "b"))
    wants = (instance("3g.40gb", 4, "c"), instance("1g.10gb", 0, "a"), instance("1g.10gb", 1, "b"))
    kept = {tuple(kind[3][0][0] for kind, _ in one.kept) for one in matches("A100-80GB", runs, wants)}
    assert kept == {("a",), ("b",)}


A100, T4 = "A100-80GB", "T4"


def real_of(*gpus):
    return [RealGpu(f"x/{g}", A100, None, None, f"x/{g}", "mig", tuple(on)) for g, on in enumerate(gpus)]


def wanted_of(*gpus):
    return [WantedGpu(f"y/{j}", A100, "mig", tuple(on)) for j, on in enumerate(gpus)]


def small(*names):
    """Returns the smallest instances, side by side, for these services."""
    return [instance("1g.10gb", start, name) for start, name in enumerate(names)]


def test_fewest_services_come_before_fewest_partitions():
    """One GPU has three partitions of what is wanted together, the other one of two services that all would stay."""
    real, wanted = real_of(small("b", "b", "b"), small("a", "c")), wanted_of(small("a", "b", "b", "b", "c"))
    found = least_disturbance(real, wanted, {"a", "b", "c"}, time_limit_s=5)
    assert (found.real, found.match[0].count, found.fewest_services, found.proven) == ((1,), 2, 1, True)
    # Without services that go on partitions alone count.
    found = least_disturbance(real, wanted, set(), time_limit_s=5)
    assert (found.real, found.match[0].count, found.fewest_services, found.proven) == ((0,), 3, 0, True)


def test_a_service_that_keeps_some_of_its_partitions_is_disturbed_and_one_that_shrinks_is_in_any_case():
    real, wanted = real_of(small("b", "b", "e", "e"), ()), wanted_of(small("b", "e"), small("b", "z"))
    found = least_disturbance(real, wanted, {"b", "e"}, time_limit_s=5)
    assert found.fewest_services == 2
    assert [0 if match is None else match.count for match in found.match] == [2, 0]


@pytest.mark.parametrize(
    ("bound", "services"),
    [(-inf, None), (-3.0, 0), (0.0, 0), (0.1, 1), (8.0, 2), (8.000002, 2), (8.00002, 3)],
)
def test_the_limit_of_the_program_is_one_of_whole_services(bound, services):
    assert assignment._whole_services(bound, 4.0) == services


def test_a_search_that_ends_without_a_proof_claims_none(monkeypatch):
    """It found a plan, or none: then the transport problem gives one, without a limit of time."""
    real, wanted = real_of(small("a", "a"), small("b")), wanted_of(small("a"), small("a", "b"))
    ended, solver = [], assignment.run_highs

    def ending(known):
        def solved(model, time_limit_s, *, absolute_gap):
            ended.append((time_limit_s, absolute_gap))
            if time_limit_s == inf:
                return solver(model, time_limit_s, absolute_gap=absolute_gap)
            found = solver(model, 5, absolute_gap=absolute_gap)
            return SimpleNamespace(
                termination=SimpleNamespace(
                    objective_bounds=SimpleNamespace(dual_bound=-1.0), reason=mathopt.TerminationReason.FEASIBLE
                ),
                has_primal_feasible_solution=lambda: known,
                variable_values=found.variable_values,
            )

        return solved

    for known in (True, False):
        monkeypatch.setattr(assignment, "run_highs", ending(known))
        found = least_disturbance(real, wanted, {"a", "b"}, time_limit_s=3)
        assert (found.proven, found.method) == (False, assignment.UNFINISHED if known else assignment.BY_PARTITIONS)
        assert found.fewest_services == 0, "what is shown, though every assignment disturbs one"
        assert sorted(found.real) == [0, 1]
    # Costs are whole numbers: a claim of the least is one where nothing whole is below.
    assert [limit for limit, _ in ended] == [3, 3, inf]
    assert all(gap < 1 for _, gap in ended)


def test_where_the_whole_search_has_no_time_for_any_assignment_it_says_so(monkeypatch):
    nothing = SimpleNamespace(
        termination=SimpleNamespace(objective_bounds=SimpleNamespace(dual_bound=-inf)),
        has_primal_feasible_solution=lambda: False,
    )
    monkeypatch.setattr(assignment, "run_highs", lambda *_, **__: nothing)
    real, wanted = real_of(small("a", "a"), small("b")), wanted_of(small("a"), small("a", "b"))
    with pytest.raises(TimeoutError, match="no assignment"):
        least_disturbance(real, wanted, {"a", "b"}, time_limit_s=3)


def test_the_rest_is_dealt_idle_ones_first_then_by_sharing_then_by_what_runs_there():
    def gpu(name, sharing, *runs):
        return RealGpu(name, A100, None, None, None, sharing, tuple(small(*runs)))

    real = [
        gpu("full", "mig", "a", "b"),
        gpu("other", "mps", "a"),
        gpu("less", "mig", "a"),
        RealGpu("type", T4, None, None, None, None, ()),
        gpu("taken", None),
        gpu("cut", "mig"),
        gpu("shared", "mps"),
    ]
    wanted = wanted_of(*([small("z")] * 6))
    assert deal_the_rest(real, wanted, [None, None, 4, None, None, None]) == [5, 6, 4, 2, 0, 1]
    # Of equal ones the first.
    assert deal_the_rest([real[5]] * 3, wanted[:2], [None, None]) == [0, 1]
