"""What planners and modes claim of random problems, judged by trying everything; draws of mode_adversary.py."""

import pytest
from oracles.mode_adversary import judged
from oracles.modes import MODES

DRAWN = {"mig": 3, "rules": 3, "mps": 3, "cpus": 3, "turns": 6}
"""Kind -> problems; of each all planners are asked, and two other modes, in turn."""


@pytest.mark.parametrize("kind", DRAWN)
def test_no_claim_on_small_problems_is_false(kind):
    """Property: no plan that does not hold, no bound, limit or optimum beyond what exists, no false infeasible."""
    others = [mode for mode in MODES if mode != "planners"]
    for seed in range(DRAWN[kind]):
        at = 2 * seed % len(others)
        verdict = judged(kind, seed, modes=["planners", *others[at : at + 2]])
        assert not verdict.false, (seed, verdict.false)
        assert verdict.answers


@pytest.mark.parametrize(
    ("kind", "seed", "mode"),
    [
        # ParvaGPU's demand matching found no segment for what is left of a rate, which may be more than a partition
        # carries by rounding.
        ("mig", 145, "planners"),
        # A backlog whose chance is no number's exponent.
        ("rules", 100_010, "planners"),
        # What published planners place carries too little together: one partition got more than its throughput.
        ("rules", 100_012, "planners"),
        # gpu-lets' port chose a batch that iGniter's rules do not allow, and disputed that they allow no plan.
        ("mps", 500_148, "planners"),
        # No partition of a CPU was paid for.
        ("cpus", 100_001, "price"),
    ],
)
def test_what_was_false_once_is_not_again(kind, seed, mode):
    assert not judged(kind, seed, modes=[mode]).false
