"""Taking a plan away from the page."""

import io
import json
import re
import shlex
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
import yaml
from problems.shop import shop
from support.app_screens import fold, press, screen, session_with, settled, switch, texts
from support.command_line import sliceplan_agent

from sliceplan.app.screens.plan.exporting import assumed_nodes, zipped
from sliceplan.app.screens.plan.format_names import FORMAT_NAMES, format_name
from sliceplan.app.screens.plan.refusals import reasons, without_repeats
from sliceplan.app.screens.plan.stacks import BY_NAME, STACKS
from sliceplan.app.screens.plan.steps import in_download, steps_for
from sliceplan.app.screens.plan.words_here import listed_here, said_here
from sliceplan.app.session.session import Answer
from sliceplan.app.widgets.files import dated_name
from sliceplan.solver.api import export_formats, solve
from sliceplan.solver.api.exporting import values_by_name
from sliceplan.solver.formats.exports.assign import assign, parse_supply
from sliceplan.solver.formats.exports.target import Export, Options
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.errors import Finding, InputError

DEMO = shop()

OPTION = re.compile(r"--(format|nodes|image|uuids|rest|problem|lscpu|memory)\b")
"""Of `sliceplan export`."""

NODES = "GPUs are not assigned to nodes: x; enter them in “Nodes” above, as NAME:COUNT"


def solved(problem=DEMO):
    return press(screen("plan", session_with(problem)), "solve")


def chosen(page, name):
    page.selectbox(key="take_stack").set_value(BY_NAME).run()
    page.selectbox(key="take_format").set_value(name).run()
    return page


def labels(page):
    return [one.label for one in page.get("download_button")]


def commands(page):
    """Returns the commands of the steps, in their order."""
    return "\n".join(one.value for one in page.code if one.language == "sh").splitlines()


def test_a_plan_offers_its_file_its_problem_and_a_report():
    page = solved()
    assert not page.exception
    assert {"Plan as JSON", "Problem as YAML", "Report as HTML"} <= set(labels(page))
    assert "whether the plan holds (ask *Will it hold?* above)" in texts(page.caption)


def test_every_form_is_offered_or_refused_with_its_reason():
    page = solved()
    for name in export_formats():
        chosen(page, name)
        assert not page.exception
        if page.error:
            assert f"**{format_name(name)}** cannot be written" in texts(page.error)
            assert not OPTION.search(texts(page.error))
        elif page.info:
            assert f"**{format_name(name)}**: add your container images in *Settings*" in texts(page.info)
        else:
            assert any(one.proto.id.endswith("take_export") for one in page.get("download_button"))
            assert page.code


def test_what_one_runs_gives_all_its_files_how_to_apply_them_and_what_they_cannot_say():
    page = solved()
    for stack in STACKS:
        page.selectbox(key="take_stack").set_value(stack.name).run()
        assert not page.exception
        said = texts([*page.error, *page.markdown])
        refused = [name for name in stack.formats if f"**{format_name(name)}** cannot be written" in said]
        if len(refused) < len(stack.formats):
            assert page.code
            assert "How to apply" in texts(page.markdown)
            assert not page.error
        assert set(stack.formats) <= set(export_formats())
    page.selectbox(key="take_stack").set_value("Kubernetes with the GPU operator").run()
    page.text_area(key="take_images").set_value("example/server:1").run()
    offered = page.selectbox(key="take_shown").options
    assert {name.split("/")[0] for name in offered} == {"mig-manager", "node-labels", "deployments"}
    lines = [line for one in page.markdown for line in one.value.splitlines()]
    assert lines.count("- **Device plugin ConfigMap**: cannot hold this plan; another choice can, below.") == 1
    details = texts(fold(page, "Details: why a file is missing and ").markdown)
    assert details.count("use “Kubernetes with DRA (dynamic resource allocation)” or “Plain Docker, or processes") == 1
    assert details.count("A100-80GB/0, part 1, runs 3 processes through MPS") == 1
    assert "No nvidia.com/device-plugin.config for gpu-node-1: the reason is above." in details
    assert "while there are any, `nvidia-mig-parted assert` fails" in details
    assert not OPTION.search(details)
    assert not page.error
    assert not page.warning


def test_every_format_is_called_by_a_name_in_words_wherever_one_is_named():
    assert set(FORMAT_NAMES) == set(export_formats())
    ids = "|".join(name for name in FORMAT_NAMES if "-" in name and name != "mig-parted")
    names = re.compile(rf"(?<![\w./-])({ids})(?![\w/-])")
    page = solved()
    for stack in (*STACKS, BY_NAME):
        page.selectbox(key="take_stack").set_value(getattr(stack, "name", stack)).run()
        shown = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error]
        prose = re.sub(r"`[^`]*`", "", texts(shown))
        assert not names.search(prose), (stack, names.search(prose))
    assert page.selectbox(key="take_format").options == [FORMAT_NAMES[name] for name in export_formats()]


@pytest.mark.parametrize(("images", "applied"), [("", 2), ("example/server:1", 3)])
def test_commands_name_the_files_of_the_archive_that_are_in_it_and_the_objects_of_these(images, applied):
    page = solved()
    page.selectbox(key="take_stack").set_value("Kubernetes with the GPU operator").run()
    page.text_area(key="take_images").set_value(images).run()
    offered = page.selectbox(key="take_shown").options
    typed = [shlex.split(one) for one in commands(page)]
    named = [word for command in typed for word in command if word.endswith((".yaml", ".sh"))]
    assert named == offered
    assert len(named) == applied
    (patch,) = [json.loads(command[-1])["spec"] for command in typed if command[1] == "patch"]
    page.selectbox(key="take_shown").set_value(offered[0]).run()
    config_map = yaml.safe_load(page.code[0].value)
    assert patch == {"mig": {"strategy": "mixed"}, "migManager": {"config": {"name": config_map["metadata"]["name"]}}}


def test_commands_for_docker_name_the_script_as_it_is_downloaded_and_a_file_that_it_writes():
    page = solved()
    page.selectbox(key="take_stack").set_value("Plain Docker, or processes on the machines").run()
    script, shown = page.code[0].value, commands(page)
    assert shown[0] == f"sh -eu {dated_name('demo', 'gpu-node-1.sh')}"
    variables = shown[1].split("--env-file ")[1].split()[0]
    assert f"> {variables}\n" in script
    page = solved("parvagpu-s1")
    page.selectbox(key="take_stack").set_value("Plain Docker, or processes on the machines").run()
    page.text_input(key="take_nodes").set_value("a:1, b:1").run()
    assert commands(page)[0] == "sh -eu a.sh"


@pytest.mark.parametrize("images", ["", "registry.example/server:1.0"])
def test_steps_for_claims_name_what_was_written_as_it_is_downloaded(images):
    page = solved()
    page.selectbox(key="take_stack").set_value("Kubernetes with DRA (dynamic resource allocation)").run()
    page.text_area(key="take_images").set_value(images).run()
    written = page.selectbox(key="take_shown").options if images else [dated_name("demo", "claims.yaml")]
    assert commands(page) == [f"kubectl apply -f {file}" for file in written]


def test_steps_for_mig_parted_leave_out_a_checkpoint_that_could_not_be_written_and_name_the_configuration():
    page = solved()
    page.selectbox(key="take_stack").set_value("mig-parted on the machines").run()
    file, (label,) = dated_name("demo", "gpu-node-1.mig-parted.yaml"), yaml.safe_load(page.code[0].value)["mig-configs"]
    assert commands(page) == [f"nvidia-mig-parted {what} -f {file} -c {label}" for what in ("apply", "assert")]


MOST_LETTERS = 40
"""That a button of a phone has room for."""


def test_what_holds_the_plan_instead_is_one_press_away():
    page = solved()
    page.selectbox(key="take_stack").set_value("Kubernetes with the GPU operator").run()
    instead = {one.label.removeprefix("Choose "): one for one in page.button if one.label.startswith("Choose ")}
    said = texts(fold(page, "Details: why a file is missing").markdown)
    assert instead
    assert all(f"“{name}" in said and len(name) < MOST_LETTERS for name in instead)
    name, button = next(iter(instead.items()))
    button.click().run()
    assert page.selectbox(key="take_stack").value.startswith(name)
    assert "cannot be written" not in texts(page.markdown)


def test_reasons_that_are_many_are_counted():
    findings = [Finding("p", str(number), "is wrong; use --format dra") for number in range(5)]
    each = [f"- p: {number} is wrong" for number in range(5)]
    instead = ["", f"Instead, use “{STACKS[1].name}”."]
    assert reasons(InputError(findings[:4])).splitlines() == [*each[:4], *instead]
    assert reasons(InputError(findings)).splitlines() == [*each[:3], "- and 2 more like these", *instead]


def test_reasons_that_advise_different_things_each_say_theirs():
    findings = [Finding("p", "a", "is wrong; use --format dra"), Finding("p", "b", "is wrong; use --format json")]
    one = f"- p: a is wrong; use “{STACKS[1].name}”"
    assert reasons(InputError(findings[:1])) == one
    assert reasons(InputError(findings)).splitlines()[0] == one
    same = [Finding("p", "a", "is wrong; nothing helps"), Finding("p", "b", "is wrong; nothing helps")]
    assert reasons(InputError(same)).splitlines() == [f"- p: {name} is wrong; nothing helps" for name in "ab"]


def test_what_a_file_leaves_out_for_a_reason_said_above_does_not_say_it_again():
    refused = InputError([Finding("p", "a", "is wrong; use --format dra")])
    warnings = ["No label for x: a is wrong; use --format dra.", "Other: thing.", "Other: thing."]
    assert without_repeats(warnings, [refused]) == ["No label for x: the reason is above.", "Other: thing."]
    assert without_repeats(warnings, []) == ["No label for x: a is wrong; use --format dra.", "Other: thing."]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "the plan: gpus not assigned to nodes: x; run: sliceplan assign the plan --nodes NAME:COUNT -o the plan",
            NODES,
        ),
        ("the plan: A100/0 partitions[2].sm_percent is 3 %", "A100/0, part 3, is 3 %"),
        ("use --format dra or commands, or put them", f"use “{STACKS[1].name}” or “{STACKS[2].name}”, or put them"),
        ("label the nodes (--format node-labels).", "label the nodes (“Node labels”)."),
        (
            "the instances must be there (mig-parted-checkpoint, commands).",
            f"(“{STACKS[4].name}” or “{STACKS[2].name}”).",
        ),
        (
            "for exact places export mig-parted-checkpoint or commands.",
            f"export “{STACKS[4].name}” or “{STACKS[2].name}”.",
        ),
        (
            "docker-cores and systemd-cores hold them",
            "“Docker commands for CPU cores” and “systemd units for CPU cores” hold",
        ),
        ("gpus[1].sharing is cores: EPYC/0 is a CPU", "EPYC/0 is a CPU"),
        ("run `kubectl get nodes`_now_", r"run `kubectl get nodes`\_now\_"),
        ("with --concurrency 1", "with --concurrency 1"),
    ],
)
def test_what_an_export_says_is_said_in_words_of_the_page(text, words):
    assert words in said_here(text, ("mig-manager", "node-labels"))


@pytest.mark.parametrize("name", ["demo", "igniter", "mixed", "cpus"])
def test_no_form_names_an_option_of_the_command_line_on_the_page(name):
    problem = example_problems()[name]
    plan = solve(problem)
    for nodes, images in (("", []), (assumed_nodes(plan), ["a:1"])):
        supplies = [parse_supply(one) for one in nodes.split(", ") if one]
        for rest in ("keep", "mig-off"):
            options = Options(source="the plan", problem=problem, rest=rest, images=values_by_name(images, "--image"))
            for form, target in export_formats().items():
                try:
                    said = listed_here(target.export(assign(plan, supplies) if supplies else plan, options).warnings)
                except InputError as error:
                    said = reasons(error)
                assert not OPTION.search(said), (form, said)
                assert "\\`" not in said


def test_the_agent_s_stack_says_what_brings_a_simulated_node_to_the_plan(tmp_path, monkeypatch):
    page = solved()
    page.selectbox(key="take_stack").set_value("sliceplan's own agent on the machines").run()
    said = [one for one in commands(page) if one.startswith("sliceplan-agent") and "--config" not in one]
    monkeypatch.chdir(tmp_path)
    (plan_file,) = re.findall(r"--unsigned (\S+)", "\n".join(said))
    assert plan_file == dated_name("demo", "plan.json")
    (tmp_path / plan_file).write_text(dump_plan(page.session_state["session"].answer.plan))
    simulate, apply, _ = map(shlex.split, said)
    assert simulate[3:] == ["--gpus", "A100-80GB:3"]
    for command in (simulate, [*apply, "--yes"]):
        done = sliceplan_agent(*command[1:])
        assert done.returncode == 0, done.stderr
    status = sliceplan_agent("status", *apply[apply.index("--node") :])
    assert "3g.40gb" in status.stdout


def test_images_are_asked_for_where_pods_need_them():
    page = chosen(solved(), "deployments")
    assert "add your container images" in texts(page.info)
    assert not page.error
    page.text_area(key="take_images").set_value("search-embedding=a:1\nsearch-embedding=b:1").run()
    assert "is given twice for search-embedding" in texts(page.error)
    page.text_area(key="take_images").set_value("example/server:1").run()
    assert not page.error
    assert "example/server:1" in page.code[0].value


def test_a_plan_without_nodes_is_given_some():
    page = chosen(solved("parvagpu-s1"), "mig-parted")
    field = page.text_input(key="take_nodes")
    assert (field.value, field.placeholder) == ("", "gpu-node-1:2")
    assert "these are assumed" in texts(page.caption)
    assert not page.error
    page.text_input(key="take_nodes").set_value("a:zero").run()
    assert "expected NAME:COUNT" in texts(page.error)
    page.text_input(key="take_nodes").set_value("a:1, b:64").run()
    assert not page.error
    assert "files (zip)" in " ".join(labels(page))
    page.text_input(key="take_nodes").set_value(" ").run()
    assert "these are assumed" in texts(page.caption)
    page = chosen(page, "commands")
    assert not page.error


def test_nodes_that_are_assumed_are_those_of_the_plan_that_is_shown():
    """They stood in the field as if they had been typed, and did not suffice for a plan with more GPUs."""
    session = session_with(example_problems()["parvagpu-s1"])
    page = chosen(press(screen("plan", session), "solve"), "mig-parted")
    problem = session.answer.problem
    workloads = tuple(one.model_copy(update={"rate_rps": 4 * one.rate_rps}) for one in problem.workloads)
    more = problem.model_copy(update={"workloads": workloads})
    session.results["solve"] = replace(session.results["solve"], problem=more, value=solve(more))
    page.run()
    assert not page.error
    assert page.text_input(key="take_nodes").placeholder == assumed_nodes(session.answer.plan) != "gpu-node-1:2"


def test_a_plan_for_the_agent_is_given_nodes_by_who_takes_it():
    page = solved("parvagpu-s1")
    page.selectbox(key="take_stack").set_value("sliceplan's own agent on the machines").run()
    assert "--node gpu-node-1 --device" in commands(page)[1]
    page.text_input(key="take_nodes").set_value("a:64").run()
    assert "names no nodes yet" not in texts(page.warning)
    assert "--node a --device" in commands(page)[1]


@pytest.mark.parametrize("name", ["demo", "mixed", "parvagpu-s6"])
def test_nodes_that_are_assumed_have_room_for_every_gpu(name):
    plan = solve(example_problems()[name])
    bare = plan.model_copy(
        update={"gpus": tuple(gpu.model_copy(update={"node": None, "index": None}) for gpu in plan.gpus)}
    )
    placed = assign(bare, [parse_supply(one.strip()) for one in assumed_nodes(bare).split(",")])
    assert all(gpu.node is not None for gpu in placed.gpus)


def test_uuids_are_asked_for_where_a_checkpoint_names_gpus():
    page = chosen(solved(), "mig-parted-checkpoint")
    assert "has no UUID of GPU 0, 1, 2 of gpu-node-1" in texts(page.error)
    uuids = "".join(f"GPU {i}: NVIDIA A100 (UUID: GPU-1e44b340-5807-0dbe-62e6-343a6b8b8bc{i})\n" for i in range(3))
    page.session_state["session"].choices["taking.uuids"] = (("gpu-node-1.txt", uuids.encode()),)
    page.run()
    assert not page.error
    assert "GPU-1e44b340-5807-0dbe-62e6-343a6b8b8bc2" in page.code[0].value
    page.session_state["session"].choices["taking.uuids"] = (("gpu-node-1.txt", b"\xff\xfe"),)
    page.run()
    assert "is not UTF-8 text" in texts(page.error)


def test_the_rest_of_a_node_is_listed_where_it_is_asked_for():
    page = chosen(solved(), "mig-parted")
    assert "does not list stay" in texts(page.markdown)
    listed = "".join(f"GPU {i}: NVIDIA A100 (UUID: GPU-1e44b340-5807-0dbe-62e6-343a6b8b8bc{i})\n" for i in range(5))
    page.session_state["session"].choices["taking.uuids"] = (("gpu-node-1.txt", listed.encode()),)
    page.run()
    assert "left as they are: GPU 3, 4 of gpu-node-1" in texts(page.markdown)
    page.checkbox(key="take_rest").check().run()
    assert not page.error
    assert "MIG is switched off there: GPU 3, 4 of gpu-node-1" in texts(page.markdown)
    assert "devices: [3, 4]" in page.code[0].value


def test_the_steps_of_the_report_are_worked_out_in_a_job():
    page = solved()
    session = page.session_state["session"]
    session.running = Answer(DEMO, solve(DEMO, "parvagpu"))
    page.run()
    page.button(key="take_steps").click().run()
    settled(page)
    assert not page.exception
    assert "steps from the running plan of demo" in texts(page.caption)
    press(switch(page, "compare"), "compare")
    switch(page, "plan")
    assert page.button(key="take_steps")


def test_an_archive_holds_all_files_and_is_the_same_each_time():
    files = {"a/one.txt": "1", "two.txt": "ü"}
    archive = zipfile.ZipFile(io.BytesIO(zipped(files)))
    assert {name: archive.read(name).decode() for name in archive.namelist()} == files
    assert zipped(files) == zipped(files)


def test_the_process_of_the_page_loads_no_solver():
    code = """
import json, sys
import sliceplan.app.screens.plan.downloads, sliceplan.app.screens.compare.screen
print(json.dumps([name for name in ("ortools", "pulp", "pynvml") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_steps_have_commands_to_copy_and_none_within_their_text():
    programs = ("docker ", "kubectl ", "nvidia-mig-parted ", "sh ", "sliceplan ", "sliceplan-agent ")
    for stack in STACKS:
        codes = [code for step in stack.how for code in re.findall(r"`([^`]+)`", step.text)]
        assert not [code for code in codes if code.startswith(programs)], stack.slug
        assert all(one.startswith(programs) for step in stack.how for one in step.commands)
        assert stack.slug in ("triton", "data") or any(step.commands for step in stack.how)


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.slug)
def test_steps_name_files_by_their_paths_in_the_download(stack):
    """A word of a step that ends as one of the files does is its whole path there."""
    text = "metadata: {{name: of-{0}}}\nmig-configs: {{of-{0}: []}}"
    made = {name: Export({f"{name}.yaml": text.format(name)}) for name in stack.formats}
    steps = steps_for(stack.how, made, "demo", solve(DEMO, "parvagpu"))
    paths = set(in_download(made))
    said = [text for step in steps for text in (step.text, *step.commands)]
    words = {word.strip(".,;:") for text in said for word in re.split(r"[\s`]", text)}
    named = {word for word in words if any(word.endswith(path.rpartition("/")[2]) for path in paths)}
    assert named <= paths | {dated_name("demo", next(iter(paths)))}
    if stack.slug in ("gpu-operator", "router"):
        assert len(named) >= 3
