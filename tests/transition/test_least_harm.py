"""A transition falls short only where no order avoids it: against exhaustive search on small fleets."""

from collections import Counter, deque
from dataclasses import replace

from problems.plan_pairs import pairs

from sliceplan.solver.transition.bridges import bridge_sizes
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.room import fits, free_placements, layout
from sliceplan.solver.transition.tenancies import capacity_rps

MOST_STATES = 4000


def some_order_exists(world):
    """
    Searches all states that comings, goings and temporary partitions can reach without a service falling short.

    Returns None where there are more than MOST_STATES.
    """
    items = [item for item in world.items if item.role != "bridges"]
    real = world.real
    begin = frozenset((item.gpu, item.tenancy, i) for i, item in enumerate(items) if item.role != "comes")
    end = frozenset((item.gpu, item.tenancy, i) for i, item in enumerate(items) if item.role != "leaves")
    sizes = bridge_sizes((real[item.gpu].gpu, item.tenancy) for item in items).by_workload

    def nexts(state):
        on = {}
        for g, one, _ in state:
            on.setdefault(g, []).append(one)
        live = capacity_rps(one for _, one, _ in state)
        for entry in end - state:
            if fits(real[entry[0]].gpu, on.get(entry[0], []), entry[1]):
                yield state | {entry}
        for entry in state - end:
            if all(live[w] - rps >= world.required.get(w, 0) * (1 - 1e-9) for w, rps in entry[1].capacity):
                yield state - {entry}
        for workload in world.required:
            for gpu, one in sizes.get(workload, ()):
                for g, content in ((g, on.get(g, [])) for g, kind in enumerate(real) if kind.gpu == gpu):
                    if one.sharing != "mig":
                        places = [one] if fits(gpu, content, one) else []
                    elif content and content[0].sharing != "mig":
                        places = []
                    else:
                        free = free_placements(gpu, layout(content))
                        places = [replace(one, start=at.start) for at in free if at.profile == one.mig_profile]
                    yield from (state | {(g, place, -1)} for place in places)

    seen, waiting = {begin}, deque([begin])
    while waiting:
        for state in nexts(waiting.popleft()):
            if state == end:
                return True
            if state not in seen:
                seen.add(state)
                waiting.append(state)
        if len(seen) > MOST_STATES:
            return None
    return False


def test_what_falls_short_could_not_have_been_avoided():
    found = Counter()
    for name, old, new in pairs(range(6), most_services=3, plans=6):
        if max(len(old.gpus), len(new.gpus)) > 3:
            continue
        planned = plan_transition(old, new)
        if planned.transition.shortfalls:
            exists = some_order_exists(planned.world)
            found[exists] += 1
            assert not exists, name
    assert found[False] > 15
