"""A node that follows a signed plan in a file."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from sliceplan.agent.model.desired import Desired, PlanReference
from sliceplan.agent.setup.configuration import AgentConfig
from sliceplan.agent.setup.following import PlanFollower
from sliceplan.agent.transition.applied import Applied
from sliceplan.solver.model.errors import InputError


@pytest.fixture
def follower(trust, plan, tmp_path):
    """Returns a node's follower, and a function that publishes a release of a number."""
    state = tmp_path / "state"
    state.mkdir()
    keys = tmp_path / "keys"
    shutil.copytree(trust.keys, keys)
    config = {"version": 1, "node": "n1", "plan": {"source": str(tmp_path / "plan.json")}}
    config |= {"trusted_keys": str(keys), "state_dir": str(state)}

    def publish(sequence, **options):
        (tmp_path / "plan.json").write_bytes(trust.signed(plan, sequence=sequence, **options))

    follower = PlanFollower(AgentConfig.model_validate(config))
    return lambda applied: follower()(applied), publish, keys


def applied(desired, rolled_back=None):
    return Applied("now", dict(desired.state), desired.plan, "", rolled_back)


def test_a_new_release_is_followed_and_an_older_one_is_not(follower):
    follow, publish, _ = follower
    publish(5)
    first = follow(None)
    assert first.plan.sequence == 5
    publish(6)
    second = follow(applied(first))
    publish(5)
    with pytest.raises(InputError, match="expected more than 6"):
        follow(applied(second))


def test_a_rollback_lets_no_old_release_in(follower):
    follow, publish, _ = follower
    publish(5)
    first = follow(None)
    publish(6)
    second = follow(applied(first))
    back = applied(first, rolled_back=second.plan)
    assert follow(back).plan.sequence == 6
    publish(5)
    with pytest.raises(InputError, match="expected more than 6"):
        follow(applied(first))


def test_a_release_that_was_not_applied_does_not_count(follower):
    follow, publish, _ = follower
    publish(6)
    follow(None)
    publish(5)
    assert follow(None).plan.sequence == 5


def test_a_plan_that_runs_stays_after_it_expired(follower, trust, tmp_path):
    follow, publish, _ = follower
    past = datetime(2001, 1, 1, tzinfo=UTC)
    publish(5, expires_at=past)
    with pytest.raises(InputError, match="which is past"):
        follow(None)
    taken = trust.accepted((tmp_path / "plan.json").read_bytes(), now=past - timedelta(days=1))
    then = Desired(taken.desired, PlanReference("plan.json", taken.sha256, 5))
    assert follow(applied(then)).state == then.state


def test_a_key_that_was_withdrawn_counts_no_longer(follower):
    follow, publish, keys = follower
    publish(5)
    follow(None)
    (keys / "signer.pub").unlink()
    with pytest.raises(InputError, match="holds no public key"):
        follow(None)


def test_a_plan_that_nobody_signed_was_no_release(follower):
    """A node that took one before it was given keys has no number yet, and takes any."""
    follow, publish, _ = follower
    publish(5)
    first = follow(None)
    unsigned = PlanReference("plan.json", "0" * 64)
    assert follow(Applied("now", dict(first.state), unsigned, "", unsigned)).plan.sequence == 5
