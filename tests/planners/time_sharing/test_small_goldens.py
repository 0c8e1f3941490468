"""Plans and figures of the public A100 tables that an independent prototype gives, one by one."""

import pytest
from problems.gpulets import MODELS, SHARES, a100_services

from sliceplan.solver.planners.time_sharing.elastic import elastic
from sliceplan.solver.planners.time_sharing.schedule import Defects, Schedule
from sliceplan.solver.planners.time_sharing.shares import Gpulet
from sliceplan.solver.planners.time_sharing.squishy import on_gpus, squishy_bins

SATURATED = {
    "mobilenet": "27:3435, 25:3155, 22:2827, 20:2557, 17:2162, 9:1200",
    "inception": "26:2183, 22:1870, 20:1703, 17:1437, 13:1097, 6:520",
    "resnet50": "29:2159, 25:1903, 22:1645, 18:1376, 15:1168, 7:567",
    "densenet121": "27:1512, 24:1340, 21:1208, 19:1062, 16:913, 8:458",
    "vgg16": "28:1518, 24:1288, 19:1036, 16:875, 13:712, 6:334",
}
"""Largest batch and requests/s at 100, 80, 60, 50, 40 and 20 %."""

KNEES = {"mobilenet": 40, "inception": 50, "resnet50": 40, "densenet121": 40, "vgg16": 40}


def shown(gpus):
    """Returns the shares that serve, as (share, model and batch of each turn, cycle)."""
    return [
        [
            (let.share, [(MODELS[t.service], t.batch) for t in let.tasks], round(let.cycle_ms, 3))
            for let in lets
            if let.tasks
        ]
        for lets in gpus
    ]


def test_saturated_batches_and_knees():
    schedule = Schedule(a100_services((1,) * 5), [], SHARES, cuts=True)
    for service, model in enumerate(MODELS):
        known = schedule.saturated[service]
        found = ", ".join(f"{known[share][0]}:{known[share][1]:.0f}" for share in reversed(SHARES))
        assert found == SATURATED[model]
        assert schedule.knee(service) == KNEES[model]


@pytest.mark.parametrize(("interferes", "resnet50"), [(False, (14, 17.5)), (True, (13, 16.25))])
def test_elastic_partitioning_of_five_services(interferes, resnet50):
    batch, cycle = resnet50
    assert shown(elastic(a100_services((800, 800, 800, 400, 400), interferes=interferes), 4)) == [
        [(40, [("inception", 10)], 12.5), (60, [("resnet50", batch)], cycle)],
        [(40, [("vgg16", 9)], 22.5)],
        [(40, [("densenet121", 8)], 20.0)],
        [(40, [("mobilenet", 8)], 10.0)],
    ]


def test_elastic_partitioning_leaves_large_leftovers_empty():
    gpus = elastic(a100_services((0, 0, 0, 0, 1600)), 4)
    assert shown(gpus)[1:] == [
        [(40, [("vgg16", 5)], 28.409)],
        [(40, [("vgg16", 13)], 18.261)],
        [(40, [("vgg16", 13)], 18.261)],
    ]
    assert [let.share for lets in gpus for let in lets if not let.tasks] == [100, 60, 60, 60]
    assert [round(lets[0].carries_rps(4), 2) for lets in gpus[2:]] == [711.92, 711.92]


def test_squishy_bins():
    bins = squishy_bins(a100_services((800, 800, 800, 400, 400)), 100)
    assert [one for lets in shown(on_gpus(bins, 100)) for one in lets] == [
        (100, [("inception", 11)], 13.75),
        (100, [("densenet121", 8), ("vgg16", 8)], 20.0),
        (100, [("mobilenet", 8)], 10.0),
        (100, [("resnet50", 15)], 18.75),
    ]
    assert bins[1].occupancy == pytest.approx(0.9678, abs=5e-5)
    joined = squishy_bins(a100_services((200, 200, 200, 100, 100)), 100)
    assert [[MODELS[task.service] for task in let.tasks] for let in joined] == [
        ["inception"],
        ["densenet121", "resnet50"],
        ["mobilenet", "vgg16"],
    ]
    assert [let.occupancy for let in joined[1:]] == pytest.approx([0.940396, 0.679965], abs=1e-6)


def test_a_service_of_few_requests_gets_nothing_unless_that_is_switched_off():
    alone = a100_services((15, 0, 0, 0, 0))
    assert not any(let.tasks for lets in elastic(alone, 1) for let in lets)
    mended = elastic(alone, 1, Defects(remainder_rps=0))
    assert sum(let.carries_rps(0) for lets in mended for let in lets) >= 15


def test_the_bisection_never_answers_32():
    services = a100_services((1,) * 5)
    always = [
        Schedule(services, [[Gpulet(0, 100)]], SHARES, True, defects)
        for defects in (Defects(), Defects(batch_32=False))
    ]
    assert [one.largest(lambda _: True) for one in always] == [31, 32]
    assert [one.largest(lambda _: False) for one in always] == [0, 0]
    assert [one.largest(lambda b: b <= 7) for one in always] == [7, 7]
