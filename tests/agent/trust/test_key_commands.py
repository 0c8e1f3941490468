"""`sliceplan-agent keygen` and `sliceplan sign` as a user runs them."""

import json

from typer.testing import CliRunner

from sliceplan.agent.cli import app as agent_app
from sliceplan.agent.trust.acceptance import accept
from sliceplan.agent.trust.trusted_keys import read_trusted_keys
from sliceplan.solver.cli import app as solver_app
from sliceplan.solver.formats.plan_files import dump_plan


def run(app, *arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_what_is_signed_with_a_new_key_is_taken_by_a_node_that_trusts_it(plan, tmp_path):
    tmp_path.chmod(0o755)
    made = run(agent_app, "keygen", "-o", tmp_path / "key")
    assert made.exit_code == 0, made.output
    key, public, name = made.output.splitlines()
    assert key == f"{tmp_path / 'key'}: private key; keep it where plans are signed, and on no node"
    assert public.startswith(f"{tmp_path / 'key.pub'}: public key; copy it to")
    assert name.startswith("key id ")
    (tmp_path / "plan.json").write_text(dump_plan(plan))
    signed = run(solver_app, "sign", tmp_path / "plan.json", "--key", tmp_path / "key", "-o", tmp_path / "signed.json")
    assert (signed.exit_code, signed.output) == (0, f"{tmp_path / 'signed.json'}\n")
    keys = read_trusted_keys(tmp_path)
    release = accept((tmp_path / "signed.json").read_bytes(), "signed.json", node="n1", keys=keys, newest=None).release
    assert (release.plan, release.expires_at) == (plan, None)


def test_number_and_end_can_be_given(plan, trust, tmp_path):
    (tmp_path / "plan.json").write_text(dump_plan(plan))
    options = ("--key", trust.folder / "signer", "--sequence", 7, "--valid-days", 2)
    done = run(solver_app, "sign", tmp_path / "plan.json", *options)
    release = trust.accepted(done.stdout.encode()).release
    assert (release.sequence, release.issued_at.microsecond) == (7, 0)
    assert (release.expires_at - release.issued_at).days == 2


def test_a_plan_that_no_agent_would_take_is_not_signed(plan, trust, tmp_path):
    data = json.loads(dump_plan(plan))
    for gpu in data["gpus"]:
        gpu["node"] = gpu["index"] = None
    (tmp_path / "plan.json").write_text(json.dumps(data))
    done = run(
        solver_app, "sign", tmp_path / "plan.json", "--key", trust.folder / "signer", "-o", tmp_path / "signed.json"
    )
    assert "sliceplan assign" in str(done.exception)
    assert not (tmp_path / "signed.json").exists()


def test_an_end_beyond_every_calendar_is_refused(plan, trust, tmp_path):
    (tmp_path / "plan.json").write_text(dump_plan(plan))
    key = ("--key", trust.folder / "signer")
    done = run(solver_app, "sign", tmp_path / "plan.json", *key, "--valid-days", 1e7)
    assert str(done.exception) == "--valid-days: is 1e+07; no calendar goes so far"
