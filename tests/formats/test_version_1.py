"""Files of version 1 as they were written once are read for ever, and what they state is kept."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sliceplan.agent.devices.simulated.node import SimulatedNodeFile
from sliceplan.agent.model.plan_files import read_plan as read_plan_of_agent
from sliceplan.agent.services.records import ServiceRecord
from sliceplan.agent.setup.configuration import read_config
from sliceplan.agent.transition.applied import read_applied
from sliceplan.agent.transition.checkpoint import read_checkpoint
from sliceplan.agent.transition.journal import JOURNAL, read_journal, unfinished
from sliceplan.agent.transition.state_folder import StateFolder
from sliceplan.agent.trust.acceptance import accept
from sliceplan.agent.trust.sequence import read_newest
from sliceplan.agent.trust.trusted_keys import read_trusted_keys
from sliceplan.app.access.policy import read_access
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.formats.problem_files import dump_problem, parse_problem, read_problem
from sliceplan.solver.formats.profile_files import read_profiles, write_profiles
from sliceplan.solver.model.digest import FIRST_FIELDS, made_with, reference
from sliceplan.solver.model.parsing import read_record
from sliceplan.solver.model.plan import Prices, Status
from sliceplan.solver.model.price_report import PriceReport
from sliceplan.solver.model.problem import FleetEntry, Problem, Settings, Workload
from sliceplan.solver.model.replan_report import ReplanReport
from sliceplan.solver.model.sweep_report import SweepReport
from sliceplan.solver.model.transition import Transition

FILES = Path(__file__).parent / "version_1"
AGENT = FILES / "agent"
DIGESTS = json.loads((FILES / "digests.json").read_text())
PLANS = {"demo": "demo", "mixed": "mixed", "everything": "everything", "gslice": "igniter", "infeasible": "infeasible"}
"""Plan -> its problem."""


def states_all_of(now, before):
    """Tells whether data has everything that earlier data states; fields that came later may be beside it."""
    if isinstance(before, dict):
        return isinstance(now, dict) and all(key in now and states_all_of(now[key], before[key]) for key in before)
    if isinstance(before, list):
        return len(now) == len(before) and all(map(states_all_of, now, before))
    return now == before


@pytest.mark.parametrize("record", [Problem, FleetEntry, Workload, Settings])
def test_every_field_of_version_1_is_stated_in_one_of_the_files(record):
    everything = read_problem(FILES / "everything.yaml")
    members = (everything, *everything.fleet, *everything.workloads, everything.settings)
    stated = set().union(*(member.model_fields_set for member in members if type(member) is record))
    assert stated >= FIRST_FIELDS[record]


@pytest.mark.parametrize("name", DIGESTS)
def test_problems_are_read_and_keep_their_digest(name):
    problem = read_problem(FILES / f"{name}.yaml")
    assert reference(problem).sha256 == DIGESTS[name]
    assert parse_problem(dump_problem(problem), "again.yaml") == problem


@pytest.mark.parametrize("name", PLANS)
def test_plans_are_read_answer_their_problems_and_are_written_with_all_they_state(name):
    path = FILES / f"{name}.plan.json"
    plan, problem = read_plan(path), read_problem(FILES / f"{PLANS[name]}.yaml")
    assert plan.problem == reference(problem)
    assert made_with(problem, plan) is None
    assert read_plan_of_agent(path) == plan
    assert states_all_of(json.loads(dump_plan(plan)), json.loads(path.read_text()))


def test_the_plans_are_of_many_kinds():
    plans = [read_plan(FILES / f"{name}.plan.json") for name in PLANS]
    assert {plan.status for plan in plans} >= {Status.OPTIMAL, Status.VIOLATING, Status.INFEASIBLE}
    assert {gpu.sharing for plan in plans for gpu in plan.gpus} == {"mig", "mps"}
    assert any(plan.warnings for plan in plans)
    assert any(plan.insurance and plan.shadow for plan in plans)


def test_profiles_are_read_and_written_as_they_were(tmp_path):
    profiles = read_profiles(FILES / "profiles.yaml")
    assert {(profile.model, profile.gpu) for profile in profiles} == {
        ("vgg16", "A100-80GB"),
        ("vgg19", "V100-SXM2-16GB"),
        ("resnet50", "T4"),
    }
    write_profiles(profiles, tmp_path / "again.yaml")
    assert read_profiles(tmp_path / "again.yaml") == profiles


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Transition, "transition"), (SweepReport, "sweep"), (ReplanReport, "replan")],
)
def test_reports_are_read_and_written_with_all_they_state(kind, name):
    path = FILES / f"{name}.json"
    assert states_all_of(read_record(kind, path).model_dump(mode="json"), json.loads(path.read_text()))


def test_prices_are_read_and_are_those_of_the_plan():
    data = json.loads((FILES / "price.json").read_text())
    report = PriceReport.model_validate({name: data[name] for name in PriceReport.model_fields})
    assert report.cost_per_hour == read_plan(FILES / "demo.plan.json").cost_per_hour
    assert Prices.model_validate(data["prices"]) == read_plan(FILES / "demo.plan.json").prices


def test_an_access_file_is_read():
    access = read_access(FILES / "access.yaml")
    assert (access.identity("me@ops.example.org").role.value, access.identity("you").role.value) == ("editor", "viewer")


@pytest.fixture
def folder(tmp_path):
    """The agent's state folder, with copies, as only its owner may write there."""
    shutil.copytree(AGENT, tmp_path / "state")
    made = StateFolder(tmp_path / "state")
    made.prepare()
    for path in (tmp_path / "state").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o600)
    return made


def test_an_agents_configuration_is_read(folder):
    config = read_config(folder.path / "agent.yaml")
    assert (config.node, config.plan.interval_s, config.device) == ("n1", 30, "simulated")


def test_a_journal_that_ended_is_read_to_its_end(folder):
    events = [line.event for line in read_journal(folder)]
    assert set(events) == {"begun", "intended", "done", "failed", "turned_back", "ended"}
    assert len(events) == len((AGENT / JOURNAL).read_text().splitlines())
    assert unfinished(folder) is None


def test_an_open_journal_says_what_to_go_back_to(folder):
    (folder.path / "journal-stuck.jsonl").replace(folder.path / JOURNAL)
    left = unfinished(folder)
    assert left.goes == "back"
    assert left.stuck
    assert left.begun.purpose == "rollback"
    assert read_checkpoint(folder, left.begun.checkpoint).state == left.begun.old


def test_what_was_applied_is_read_with_its_checkpoint_and_its_release(folder):
    applied = read_applied(folder)
    assert read_checkpoint(folder, applied.checkpoint).plan is not None
    # The plan is noted as the newest one when the agent looks next.
    assert 0 < read_newest(folder).sequence < applied.plan.sequence


def test_a_signed_plan_is_accepted(folder):
    signed = (AGENT / "signed-plan.json").read_bytes()
    keys = read_trusted_keys(folder.path / "keys")
    newest = read_newest(folder)
    accepted = accept(signed, "s", node="n1", keys=keys, newest=newest, now=datetime(2026, 12, 1, tzinfo=UTC))
    assert accepted.sha256 == read_applied(folder).plan.sha256
    assert accepted.release.plan.problem.name == "later"
    assert accepted.desired == {index: read_applied(folder).state[index] for index in accepted.desired}


def test_a_simulated_node_and_a_service_are_read(folder):
    live = SimulatedNodeFile(folder.path / "node.json").state()
    assert {gpu.gpu for gpu in live.values()} == {"A100-80GB"}
    assert any(gpu.instances for gpu in live.values())
    assert read_record(ServiceRecord, AGENT / "service.json").service.workload == "language"
