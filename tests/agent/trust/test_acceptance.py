"""Which signed plans a node takes."""

import base64
import json
from datetime import timedelta

import pytest

from sliceplan.agent.files.guarded_folder import GuardedFolder
from sliceplan.agent.model.plan_files import node_share
from sliceplan.agent.trust.dsse import pre_authentication_encoding
from sliceplan.agent.trust.sequence import read_newest, remember
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.errors import InputError

from ..conftest import NOW


def refusal(trust, data, **options):
    with pytest.raises(InputError) as caught:
        trust.accepted(data, **options)
    return str(caught.value)


def test_the_encoding_is_that_of_the_specification():
    """The test vector of DSSE's protocol.md."""
    found = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    assert found == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_a_plan_signed_by_a_trusted_key_gives_the_state_of_this_node(trust, plan):
    accepted = trust.accepted(trust.signed(plan))
    assert accepted.release.plan == plan
    assert accepted.desired == node_share(plan, "n1", "plan.json")
    assert accepted.key == trust.name


def test_the_key_id_of_an_envelope_is_only_a_hint(trust, plan):
    envelope = json.loads(trust.signed(plan))
    envelope["signatures"][0]["keyid"] = "sha256:other"
    assert trust.accepted(json.dumps(envelope).encode()).key == trust.name


def test_another_signature_beside_a_good_one_does_no_harm(trust, plan):
    good, other = (json.loads(trust.signed(plan, key)) for key in ("signer", "stranger"))
    good["signatures"] = [*other["signatures"], *good["signatures"]]
    assert trust.accepted(json.dumps(good).encode()).key == trust.name


def test_a_key_that_nobody_trusts_is_refused(trust, plan):
    assert "hold for no trusted key" in refusal(trust, trust.signed(plan, "stranger"))


def test_a_signature_does_not_hold_for_another_plan(trust, plan):
    signed, other = json.loads(trust.signed(plan, sequence=1)), json.loads(trust.signed(plan, sequence=2))
    signed["payload"] = other["payload"]
    assert "hold for no trusted key" in refusal(trust, json.dumps(signed).encode())


def test_an_unsigned_plan_names_the_command_that_signs_it(trust, plan):
    assert "run: sliceplan sign" in refusal(trust, dump_plan(plan).encode())


def test_a_plan_for_other_nodes_is_refused(trust, plan):
    assert "has nothing for the node 'n2'" in refusal(trust, trust.signed(plan), node="n2")


def test_an_older_release_and_another_one_of_the_same_number_are_refused(trust, plan):
    newest = trust.accepted(trust.signed(plan, sequence=5)).as_newest
    assert "expected more than 5" in refusal(trust, trust.signed(plan, sequence=4), newest=newest)
    later = NOW + timedelta(seconds=1)
    assert "its content differs" in refusal(trust, trust.signed(plan, sequence=5, issued_at=later), newest=newest)
    assert trust.accepted(trust.signed(plan, sequence=6), newest=newest).release.sequence == 6


def test_an_expired_release_is_refused_unless_it_runs_already(trust, plan):
    signed = trust.signed(plan, expires_at=NOW + timedelta(days=1))
    newest = trust.accepted(signed).as_newest
    later = NOW + timedelta(days=2)
    assert "which is past" in refusal(trust, signed, now=later)
    assert trust.accepted(signed, now=later, newest=newest).sha256 == newest.sha256


def test_the_number_is_the_time_of_signing_unless_given(trust, plan):
    assert trust.accepted(trust.signed(plan)).release.sequence == int(NOW.timestamp())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not valid JSON"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b"[" * 100_000, "nested deeper than 24 levels"),
        (b'{"a": "' + b'\\"[' * 100_000, "is not valid JSON"),
        (b"[]", "is a list; expected a mapping"),
        (b'{"payload": "", "payload": ""}', "the key 'payload' stands twice"),
        (b'{"payload": NaN}', "NaN is no number"),
        (b'{"payload": ' + b"9" * 5000 + b"}", "an integer beyond"),
        (b" " * (16 * 2**20 + 1), "is larger than 16 MiB"),
    ],
)
def test_what_is_no_envelope_is_refused_before_any_key_is_tried(trust, data, message):
    assert message in refusal(trust, data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"payloadType": "application/json"}, "payloadType is 'application/json'"),
        ({"payload": "!!"}, "payload is not base64"),
        ({"signatures": []}, "signatures has 0 entries"),
        ({"extra": 1}, "extra is not a field here"),
        ({"signatures": [{"sig": "AA=="}]}, "hold for no trusted key"),
    ],
)
def test_a_changed_envelope_is_refused_where_it_stands(trust, plan, change, message):
    assert message in refusal(trust, json.dumps(json.loads(trust.signed(plan)) | change).encode())


def test_the_url_safe_alphabet_is_taken_too(trust, plan):
    envelope = json.loads(trust.signed(plan))
    payload = base64.b64decode(envelope["payload"])
    envelope["payload"] = base64.urlsafe_b64encode(payload).decode()
    assert trust.accepted(json.dumps(envelope).encode()).release.plan == plan


def test_the_newest_release_is_remembered_and_none_before_it(trust, plan, tmp_path):
    assert read_newest(GuardedFolder(tmp_path)) is None
    first, second = (trust.accepted(trust.signed(plan, sequence=number)).as_newest for number in (1, 2))
    assert remember(GuardedFolder(tmp_path), second) == second
    assert remember(GuardedFolder(tmp_path), first) == second
    assert read_newest(GuardedFolder(tmp_path)) == second
    assert [path.name for path in tmp_path.iterdir()] == ["newest-release.json"]


def test_a_damaged_note_is_an_error_and_not_taken_for_none(tmp_path):
    (tmp_path / "newest-release.json").write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        read_newest(GuardedFolder(tmp_path))
