"""Models without a profile on a type of the fleet: which those are, and what one press makes of them."""

from problems.instances import problem_of
from problems.shop import shop
from support.app_screens import screen, session_with, texts

from sliceplan.app.jobs.estimating import with_estimates
from sliceplan.app.profiles.estimating import asked_in, asked_of, estimates, missing, nowhere, sharing_for
from sliceplan.app.session.own_profiles import use_estimates
from sliceplan.app.session.problem_state import undo
from sliceplan.solver.api import check, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import FleetEntry

KNOWN = shipped_profiles()
DEMO = shop()
WITH_L4 = DEMO.model_copy(update={"fleet": (*DEMO.fleet, FleetEntry(gpu="L4", sharing=("mps",)))})
MODELS = sorted({one.model for one in DEMO.workloads})


def test_what_is_missing_is_the_same_of_a_problem_and_of_its_tables():
    session = session_with(WITH_L4)
    assert asked_in(session.tables.fleet, session.tables.workloads) == asked_of(WITH_L4)
    assert {gpu: sorted(models) for gpu, models in missing(asked_of(WITH_L4), KNOWN).items()} == {"L4": MODELS}
    assert nowhere(asked_of(WITH_L4), KNOWN) == {}


def test_a_type_is_used_whole_where_nothing_more_can_be_estimated():
    made = estimates("L4", ["bert"], KNOWN)
    assert sharing_for(("mps",), made) == ("mps", "exclusive")
    assert sharing_for(("mig",), made) == ("exclusive",)
    assert sharing_for(("mps",), estimates("L4", ["resnet50"], KNOWN)) == ("mps",)
    assert sharing_for(("mig",), estimates("H100-80GB-SXM", ["bert"], KNOWN)) == ("mig",)


def test_what_is_offered_for_a_type_that_is_left_out_is_planned_and_holds():
    (way,) = with_estimates(WITH_L4, ["L4"], KNOWN)
    said = f"Estimate {len(MODELS)} models on L4 from A100-80GB and V100-SXM2-16GB, 25% added to the times"
    assert way.words == said
    assert way.problem.fleet[-1].sharing == ("mps", "exclusive")
    assert {one.gpu for one in way.problem.profiles} == {"L4"}
    assert way.plan.cost_per_hour <= solve(WITH_L4).cost_per_hour
    assert not check(way.problem, way.plan, KNOWN)
    assert not missing(asked_of(way.problem), [*KNOWN, *way.problem.profiles])


def test_a_model_that_is_known_nowhere_in_the_fleet_is_estimated_where_the_error_stands():
    only = problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 500}], fleet=[{"gpu": "L4", "sharing": ["mps"]}])
    page = screen("workloads", session_with(only))
    session = page.session_state["session"]
    assert session.problem is None
    assert "not on L4" in texts([*page.error, *page.markdown]) or page.dataframe
    page.button(key="estimate_L4").click().run()
    assert not page.exception
    assert session.problem is not None
    assert session.problem.fleet[0].sharing == ("mps", "exclusive")
    assert "estimate_L4" not in {button.key for button in page.button}
    assert solve(session.problem).gpus_used == 1


def test_one_undo_takes_an_estimate_back():
    session = session_with(WITH_L4)
    before = session.tables
    use_estimates(session, "L4", estimates("L4", ["bert"], KNOWN))
    assert session.problem.profiles
    undo(session)
    assert session.tables is before


def test_the_screen_of_profiles_says_what_is_not_known_and_what_an_estimate_is():
    page = screen("profiles", session_with(WITH_L4))
    assert "L4: nothing is known of" in texts(page.markdown)
    page.button(key="estimate_L4").click().run()
    page.selectbox(key="profile_model").set_value("bert").run()
    page.selectbox(key="profile_gpu_bert").set_value("L4").run()
    assert not page.exception
    assert "estimated from A100-80GB by roofline ratios, 25% added to its times" in texts(page.markdown)
