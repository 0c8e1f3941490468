"""Partitions that are kept free, without a solver: as many of each size as any GPU has."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.primal.spares_at_hand import cuts_with_free

counts = st.lists(st.integers(0, 3), min_size=2, max_size=2)


@given(
    st.lists(counts.filter(any), min_size=1, max_size=3),
    counts,
    counts,
    st.sampled_from([2.0, 6.0, np.inf]),
    st.booleans(),
)
@example([[1, 2], [0, 3]], [1, 3], [0, 2], 6.0, True)  # a cut of three is made at first, and not at last
@settings(max_examples=100, deadline=None)
def test_what_is_wanted_and_free_has_a_place_and_any_gpu_may_be_lost(cuts, wanted, least_free, available, gpu_loss):
    instances, wanted, least_free = np.array(cuts), np.array(wanted), np.array(least_free)
    supply = Supply(instances, np.zeros(len(cuts), dtype=np.int64), np.ones(len(cuts)), np.array([available]))
    found = cuts_with_free(supply, wanted, least_free, np.ones(2), gpu_loss=gpu_loss)
    if found is None:
        missing = ~instances.any(axis=0) & (wanted + least_free > 0)
        assert missing.any() or np.isfinite(available)
        return
    times, free = found
    assert times.sum() <= available
    assert (free >= least_free).all()
    assert (times @ instances >= wanted + free).all()
    # No more are free than what was asked for, or what one of the GPUs has.
    most = instances[times > 0].max(axis=0, initial=0)
    assert (free == (np.maximum(least_free, most) if gpu_loss else least_free)).all()
    for cut in np.flatnonzero(times) if gpu_loss else ():
        assert (free >= instances[cut]).all()
