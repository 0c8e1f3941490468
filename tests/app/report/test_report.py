"""The report of a plan: complete, well-formed, self-contained, and deaf to what is in the plan."""

from xml.etree import ElementTree as Xml

import pytest
from problems.instances import problem_of, random_problem
from problems.shop import shop
from support.html_reading import read

from sliceplan.app.report.fleet_picture import fleet_pictures
from sliceplan.app.report.report import plan_report
from sliceplan.app.report.way import way_between
from sliceplan.solver.api import SimulationSettings, simulate, solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.plan import Plan

DEMO = shop()
LARGEST = 1_000_000


@pytest.fixture(scope="module")
def demo():
    return solve(DEMO)


def report(problem, plan, **more):
    return plan_report(problem, plan, made_at="2026-03-01 12:00 UTC", version="9.9.9", **more)


def text_of(html):
    return " ".join(" ".join(read(html).text).split())


def test_the_report_says_what_cost_proof_risks_steps_and_checksums(demo):
    text = text_of(report(DEMO, demo))
    for said in (
        "3 GPUs, $10.29 per hour: proven cheapest",
        "Lower limit: no plan costs less than $10.29 per hour",
        "Why the limit holds: Each kind of partition has a price",
        "Promised: execution within 50 % of the SLO: no percentile is promised",
        "No headroom",
        "No plan that runs today was given",
        demo.problem.sha256,
        "2026-03-01 12:00 UTC",
        "9.9.9",
        "$7,514",
    ):
        assert said in text
    for workload in DEMO.workloads:
        assert workload.name in text
    for gpu in demo.gpus:
        assert gpu.id in text


def test_a_report_of_a_simulated_plan_says_who_is_late(demo):
    assert "Will it hold?" not in text_of(report(DEMO, demo))
    found = simulate(DEMO, demo, SimulationSettings(requests=5000, load=2.0))
    html = report(DEMO, demo, simulation=found)
    text = text_of(html)
    assert "2 times the rates, dealt by weighted round robin. Asked for: 99 %" in text
    late = sum(one.holds == "no" for one in found.services)
    assert html.count('<td class="bad">no</td>') == late > 0


def test_it_needs_nothing_from_anywhere_and_runs_nothing(demo):
    reader = read(report(DEMO, demo))
    assert "script" not in reader.tags
    links = [value for _, name, value in reader.attributes if name in ("src", "href", "data", "action")]
    assert all(value.startswith(("#", "data:,")) for value in links)
    assert not [name for _, name, _ in reader.attributes if name.startswith("on")]
    assert any(value and "default-src 'none'" in value for _, _, value in reader.attributes)


def test_the_steps_from_the_running_plan_are_in_it(demo):
    running = solve(DEMO, "parvagpu")
    steps = way_between(running, demo)
    text = text_of(report(DEMO, demo, running=running, transition=steps))
    assert "Every service keeps the lower of its two rates at every moment." in text
    assert all(gpu.name in text for gpu in steps.gpus)
    assert text.count("(temporary)") >= steps.temporary
    assert "were not worked out" in text_of(report(DEMO, demo, running=running))
    assert "could not be worked out: no room" in text_of(report(DEMO, demo, running=running, trouble="no room"))


def test_what_was_assumed_of_models_is_among_its_dangers(demo):
    html = report(DEMO, demo, assumed=["<b>chat</b> runs llama-7b, and is planned as vgg16"])
    assert "<b>chat</b> runs llama-7b, and is planned as vgg16: nobody measured that" in text_of(html)
    assert "<b>chat" not in html


def test_a_plan_that_misses_slos_is_refused_in_its_first_lines():
    problem = example_problems()["igniter"]
    plan = solve(problem, "ffd")
    html = report(problem, plan)
    assert "Do not deploy: 9 services miss the SLO" in text_of(html)
    assert html.index("Do not deploy") < html.index('id="what"')
    assert html.count("misses its SLO</title>") == len({(one.gpu, one.workload) for one in plan.violations})


def test_a_problem_without_a_plan_has_a_report_too():
    problem = problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 1}])
    plan = solve(problem)
    text = text_of(report(problem, plan))
    assert f"w0 is not served: {plan.unserved[0].reason}" in text
    assert "The plan uses no GPUs." in text


HOSTILE = "</title></style></svg><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}{% raw %}&amp;\"'"


def test_what_stands_in_a_plan_is_text_wherever_it_stands():
    problem = example_problems()["igniter"]
    data = solve(problem, "ffd").model_dump(mode="json")
    for number, gpu in enumerate(data["gpus"]):
        gpu["id"] = f"{number}{HOSTILE}"[:96]
    data["planner"] = data["bound"]["method"] = data["search"]["solver"] = HOSTILE
    data["warnings"] = [HOSTILE]
    data["violations"] = [{**one, "gpu": data["gpus"][0]["id"], "message": HOSTILE} for one in data["violations"]]
    data["unserved"] = [{"workload": "w", "reason": HOSTILE}]
    plan = Plan.model_validate(data)
    plain = read(report(problem, solve(problem, "ffd"), trouble="x"))
    reader = read(report(problem, plan, trouble=HOSTILE))
    assert set(reader.tags) == set(plain.tags)
    assert {name for _, name, _ in reader.attributes} == {name for _, name, _ in plain.attributes}
    assert "{{ 7*7 }}" in "".join(reader.text)
    assert "alert(1)" in "".join(reader.text)


@pytest.mark.parametrize("services", [12, 850])
def test_the_picture_holds_every_block_once_inside_its_frame(services):
    problem = random_problem(services, 3)
    plan = solve(problem)
    pictures = [Xml.fromstring(picture) for picture in fleet_pictures(plan, problem)]
    drawn = 0
    for picture in pictures:
        _, _, width, height = map(float, picture.get("viewBox").split())
        for block in picture.iter("rect"):
            x, y, w, h = (float(block.get(name)) for name in ("x", "y", "width", "height"))
            assert x >= 0
            assert x + w <= width + 0.1
            assert y + h <= height
            drawn += "free" not in block.find("title").text
    assert drawn >= sum(len(gpu.partitions) for gpu in plan.gpus)
    headings = [text.text for picture in pictures for text in picture.iter("text") if text.get("class") == "g"]
    assert len(headings) == len(plan.gpus)
    if services > 100:
        assert len(plan.gpus) > 400
        html = report(problem, plan)
        assert len(html.encode()) < LARGEST
        read(html)
