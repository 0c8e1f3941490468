"""Residents packed without a search: who may join a GPU, and what is done where someone does not fit."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.mps import packed_residents as module
from sliceplan.solver.exact.mps.packed_residents import _fill, _Gpu, _Room, packed_on_each


def room_of(*asked, clients=3, memory=100.0, fits=lambda _: True):
    """Returns a room of demands, each as units alone and memory; `fits` tells which of them can be together."""
    known = [
        SimpleNamespace(workload=w, batch=1, least_units=units, memory_mib=mib) for w, (units, mib) in enumerate(asked)
    ]
    mps = SimpleNamespace(
        gpu="x", clients=clients, capacity_units=10, memory_mib=memory, percent_of=lambda units: 10.0 * units
    )

    class Told(_Room):
        def together(self, gpus, joining):
            sets = [[*gpu.residents, one] for gpu, one in zip(gpus, joining, strict=True)]
            units = [[self.asked[one].least_units for one in members] + [0] for members in sets]
            longest = max(map(len, units))
            padded = np.array([one + [0] * (longest - len(one)) for one in units])
            return padded, np.array(
                [sum(one) <= 10 and fits(members) for one, members in zip(units, sets, strict=True)]
            )

    return Told(mps, known)


@pytest.mark.parametrize(
    ("gpu", "waiting", "at"),
    [
        # The largest that the units leave room for.
        (_Gpu([3], [4], 10), [0, 1, 2], 2),
        (_Gpu([3], [5], 10), [0, 1, 2], 1),
        (_Gpu([3], [4], 5), [0, 1, 2], 1),
        (_Gpu([3], [9], 10), [0, 1, 2], None),
        (_Gpu([3], [4], 10), [], None),
        # One less large where the memory is too small for it; just enough is enough.
        (_Gpu([4], [1], 10), [0, 1, 2], 1),
        (_Gpu([5], [1], 10), [0, 1, 2], None),
        # As many as there may be.
        (_Gpu([3, 3, 3], [1, 1, 1], 10), [0, 1, 2], None),
        (_Gpu([3, 3], [1, 1], 10), [0, 1, 2], 2),
    ],
)
def test_the_largest_joins_that_there_is_room_for(gpu, waiting, at):
    room = room_of((2, 10.0), (5, 40.0), (6, 90.0), (4, 0.0), (1, 60.0), (1, 95.0))
    assert room.candidate(gpu, waiting) == at


def test_who_does_not_fit_waits_again_and_the_gpu_takes_smaller_ones_only():
    """Each of two GPUs tries the largest; what one of them cannot take the other may."""
    room = room_of((2, 0.0), (3, 0.0), (5, 0.0), (5, 0.0), (4, 0.0), fits=lambda members: members != [3, 2])
    first, second = _Gpu([3], [5], 10), _Gpu([4], [4], 10)
    waiting = [0, 1, 2]
    _fill(room, [first, second], waiting)
    assert (first.residents, first.units, first.largest) == ([3, 0], [5, 2], 4)
    assert (second.residents, second.units) == ([4, 1], [4, 3])
    assert waiting == [2]


def test_all_that_is_open_takes_what_it_can():
    room = room_of((2, 0.0), (7, 0.0), (3, 0.0), (8, 0.0), (1, 0.0))
    gpus = [_Gpu([3], [8], 10), _Gpu([1], [7], 10)]
    waiting = [4, 0, 2]
    _fill(room, gpus, waiting)
    assert [gpu.residents for gpu in gpus] == [[3, 0], [1, 2]]
    assert waiting == [4]


def test_a_type_that_cannot_host_everybody_or_of_which_nobody_takes_any_has_no_gpus(monkeypatch):
    packed = {"x": ["gpu"], "y": None, "z": []}
    monkeypatch.setattr(module, "packed_residents", lambda _, mps: packed[mps])
    assert packed_on_each(SimpleNamespace(mps={name: name for name in packed})) == [["gpu"]]
