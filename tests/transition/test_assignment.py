"""The assignment against every way to deal the GPUs, and what counts as the same."""

from itertools import permutations

import pytest
from problems.plan_pairs import pairs

from sliceplan.solver.transition.assignment import least_disturbance
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
        found = least_disturbance(real, wanted, both)
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
        proven = least_disturbance(real, wanted, both)
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
    found = least_disturbance(real, wanted, {"a", "b"}, fixed_starts=fixed_starts)
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
