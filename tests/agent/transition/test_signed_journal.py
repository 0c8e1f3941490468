"""A journal is obeyed only as far as a signed plan, or what was there before, vouches for where it leads."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from sliceplan.agent.devices.simulated.node import SimulatedNode, SimulatedNodeFile, record_of, write_node
from sliceplan.agent.files.guarded_folder import GuardedFolder
from sliceplan.agent.model.differences import differences
from sliceplan.agent.setup.following import desired_of
from sliceplan.agent.setup.opening import Words, open_agent
from sliceplan.agent.transition.applied import read_applied
from sliceplan.agent.transition.applying import apply_transition, resume, undo
from sliceplan.agent.transition.checkpoint import read_checkpoint
from sliceplan.agent.transition.journal import unfinished
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.transition.reconcile import Rules, look
from sliceplan.agent.transition.state_folder import APPLIED, JOURNAL, SIGNED
from sliceplan.agent.trust.sequence import NewestRelease, remember
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.errors import InputError


@pytest.fixture
def place(tmp_path, plan, trust):
    """An agent of a simulated node, with a signed plan that it can fetch, and what else a test needs."""
    shutil.copytree(trust.keys, tmp_path / "keys")
    write_node(tmp_path / "node.json", record_of(SimulatedNode.unused({0: "A100-80GB", 1: "A100-80GB"}).state()))
    config = {"version": 1, "node": "n1", "plan": {"source": str(tmp_path / "signed.json")}}
    config |= {"trusted_keys": str(tmp_path / "keys"), "state_dir": str(tmp_path / "state")}
    config |= {"device": "simulated", "simulated_node": str(tmp_path / "node.json")}
    (tmp_path / "agent.yaml").write_text(json.dumps(config))
    (tmp_path / "signed.json").write_bytes(trust.signed(plan, sequence=7))
    agent = open_agent(Words(config=tmp_path / "agent.yaml"), say=lambda _: None)
    agent.session.folder.prepare()
    return SimpleNamespace(agent=agent, folder=agent.session.folder, path=tmp_path)


def live(place):
    return SimulatedNodeFile(place.path / "node.json").state()


def begin(place, desired, steps=6):
    """Lets an agent carry out some steps towards a state, and leave."""
    asked = iter([False] * steps)
    session = replace(place.agent.session, stop_asked=lambda: next(asked, True))
    transition = plan_transition(live(place), desired.state, read_applied(place.folder))
    assert apply_transition(session, transition, desired.plan, signed=desired.signed).end == "stopped"


def go_on(place):
    return resume(place.agent.session, unfinished(place.folder))


def change(place, name, edit):
    """Plants a file: another content in place of what the agent wrote."""
    first, _, rest = place.folder.read(name).partition(b"\n" if name == JOURNAL else b"\0")
    data = json.loads(first)
    edit(data)
    place.folder.write(name, json.dumps(data).encode() + b"\n" + rest)


def not_obeyed(place, message, act=go_on):
    before = live(place)
    with pytest.raises(InputError, match=message) as caught:
        act(place)
    assert live(place) == before, "nothing was changed"
    return str(caught.value)


def test_what_a_signed_plan_vouches_for_goes_on_after_a_kill(place):
    desired = place.agent.fetch()(None)
    begin(place, desired)
    (place.path / "signed.json").unlink()
    assert go_on(place).end == "applied"
    assert differences(live(place), desired.state) == []
    assert read_applied(place.folder).plan.sequence == 7


def test_a_gpu_that_the_plan_no_longer_names_may_be_freed(place):
    begin(place, place.agent.fetch()(None))
    change(place, JOURNAL, lambda line: line["new"].update({"1": line["old"]["0"]}))
    assert go_on(place).end == "applied"


def test_the_loop_takes_a_planted_journal_for_what_needs_attention(place):
    begin(place, place.agent.fetch()(None))
    change(place, JOURNAL, lambda line: line["new"]["0"].update(instances=[]))
    before = live(place)
    found = look(place.agent.session, place.agent.fetch, list, Rules(allow_reset=True))
    assert found.doing == "needs attention"
    assert "leads to another state than the signed plan that it names; it is not obeyed" in found.reason
    assert live(place) == before


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda line: line["new"]["0"].update(services=[]), "another state than the signed plan"),
        (lambda line: line["new"].pop("0"), "another state than the signed plan"),
        (lambda line: line["new"]["0"].update(mig_enabled=False), "another state than the signed plan"),
        (lambda line: line["new"].update({"1": line["new"]["0"]}), "another state than the signed plan"),
        (lambda line: line["plan"].update(sha256="0" * 64), "another plan than the signed one beside it"),
        (lambda line: line.update(plan=None), "a plan that nobody signed"),
        (lambda line: line.update(purpose="rollback"), "another state than the one to roll back to"),
    ],
)
def test_a_journal_that_leads_elsewhere_is_not_obeyed(place, edit, message):
    begin(place, place.agent.fetch()(None))
    change(place, JOURNAL, edit)
    text = not_obeyed(place, message)
    assert text.startswith(str(place.folder.path / JOURNAL))
    assert "--discard-journal" in text


def test_every_gpu_must_be_as_the_signed_plan_wants_it(place):
    begin(place, place.agent.fetch()(None))
    verified = place.agent.session.verified

    def wants_more(data):
        wanted = verified(data)
        return replace(wanted, state={**wanted.state, 1: wanted.state[0]})

    session = replace(place.agent.session, verified=wants_more)
    not_obeyed(place, "another state than the signed plan", lambda _: resume(session, unfinished(place.folder)))


def test_a_journal_is_not_obeyed_without_the_plan_that_it_carries_out(place, trust, plan):
    begin(place, place.agent.fetch()(None))
    signed = place.folder.read(SIGNED)
    place.folder.write(SIGNED, trust.signed(plan, "stranger", sequence=7))
    not_obeyed(place, "hold for no trusted key")
    place.folder.write(SIGNED, trust.signed(plan, sequence=8))
    not_obeyed(place, "another plan than the signed one beside it")
    place.folder.remove(SIGNED)
    not_obeyed(place, "a plan that nobody signed")
    place.folder.write(SIGNED, signed)
    (place.path / "keys" / "signer.pub").write_bytes((trust.folder / "stranger.pub").read_bytes())
    not_obeyed(place, "hold for no trusted key")


def test_an_old_plan_is_not_let_in_by_a_journal(place):
    begin(place, place.agent.fetch()(None))
    remember(GuardedFolder(place.folder.path), NewestRelease(sequence=9, sha256="0" * 64))
    not_obeyed(place, "is 7; expected more than 9")


def test_a_transition_that_nobody_signed_is_left_to_a_person_who_can_undo_it(place, plan):
    (place.path / "plan.json").write_text(dump_plan(plan))
    begin(place, desired_of(place.path / "plan.json", "n1"))
    not_obeyed(place, "a plan that nobody signed")
    assert undo(place.agent.session, unfinished(place.folder), "by hand").end == "rolled back"
    assert all(not gpu.instances for gpu in live(place).values())


def test_a_way_back_to_what_was_not_there_is_not_taken(place):
    desired = place.agent.fetch()(None)
    begin(place, desired)
    instances = json.loads(place.folder.read(JOURNAL).splitlines()[0])["new"]["0"]["instances"]
    change(place, JOURNAL, lambda line: line["old"]["0"].update(mig_enabled=True, instances=instances))
    not_obeyed(
        place,
        "leads back to another state than its checkpoint",
        lambda _: undo(place.agent.session, unfinished(place.folder), "by hand"),
    )
    place.folder.append(JOURNAL, b'{"event": "turned_back", "reason": "it failed"}\n')
    not_obeyed(place, "leads back to another state than its checkpoint")


def test_a_rollback_goes_on_to_the_state_of_its_checkpoint_alone(place):
    desired = place.agent.fetch()(None)
    session = place.agent.session
    apply_transition(session, plan_transition(live(place), desired.state), desired.plan, signed=desired.signed)
    applied = read_applied(place.folder)
    checkpoint = read_checkpoint(place.folder, applied.checkpoint)
    asked = iter([False] * 4)
    stopping = replace(session, stop_asked=lambda: next(asked, True))
    transition = plan_transition(live(place), checkpoint.state)
    apply_transition(stopping, transition, checkpoint.plan, "rollback", rolled_back=applied.plan)
    whole = place.folder.read(JOURNAL)
    change(place, JOURNAL, lambda line: line["new"].pop("0"))
    not_obeyed(place, "leads to another state than the one to roll back to")
    place.folder.write(JOURNAL, whole)
    assert go_on(place).end == "applied"
    assert all(not gpu.instances for gpu in live(place).values())


def test_a_repair_needs_no_signature_but_the_state_that_was_applied(place):
    desired = place.agent.fetch()(None)
    session = place.agent.session
    apply_transition(session, plan_transition(live(place), desired.state), desired.plan, signed=desired.signed)
    SimulatedNodeFile(place.path / "node.json").reboot()
    place.folder.remove(SIGNED)
    begin(place, replace(desired, signed=None), steps=3)
    whole = place.folder.read(JOURNAL)
    change(place, JOURNAL, lambda line: line["new"]["0"].update(instances=[]))
    not_obeyed(place, "a plan that nobody signed")
    place.folder.write(JOURNAL, whole)
    assert go_on(place).end == "applied"
    assert place.folder.read(APPLIED) is not None
