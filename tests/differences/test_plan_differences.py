"""What differs between plans."""

from problems.instances import ROOT
from problems.shop import shop_plan

from sliceplan.solver.api import solve
from sliceplan.solver.differences.plans import Place, difference
from sliceplan.solver.differences.staying import staying
from sliceplan.solver.differences.wording import describe_plans
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.plan import Plan

DEMO = shop_plan()
IGNITER = read_plan(ROOT / "plans" / "igniter.plan.json")


def edited(plan, edit):
    """Returns a plan whose plain data a function changed."""
    data = plan.model_dump(mode="json")
    edit(data)
    return Plan.model_validate(data)


def without_nodes(data):
    for gpu in data["gpus"]:
        gpu["node"] = gpu["index"] = None


def test_a_plan_does_not_differ_from_itself():
    assert not difference(DEMO, DEMO)
    assert describe_plans(difference(DEMO, DEMO)) == "nothing"


def test_gpus_that_were_only_renumbered_are_no_difference():
    def renumber(data):
        without_nodes(data)
        for place, gpu in enumerate(reversed(data["gpus"])):
            gpu["id"] = f"{gpu['gpu']}/{place}"

    assert not difference(edited(DEMO, without_nodes), edited(DEMO, renumber))


def test_a_gpu_on_another_node_moves_its_workloads_and_no_other():
    def move(data):
        data["gpus"][0]["node"] = "gpu-node-9"

    found = difference(DEMO, edited(DEMO, move))
    served = {one.workload for partition in DEMO.gpus[0].partitions for one in partition.serves}
    assert {move.workload for move in found.moved} == served
    assert not found.figures
    assert not found.partitions
    assert "on gpu-node-1, GPU 0 -> " in describe_plans(found, most=99)


def test_another_batch_size_is_no_move():
    def tune(data):
        data["gpus"][0]["partitions"][0]["serves"][0]["batch"] += 1

    found = difference(DEMO, edited(DEMO, tune))
    assert found.retuned == ("search-embedding",)
    assert not found.moved


def test_figures_gpus_partitions_and_services_that_came_or_went_are_told():
    def shrink(data):
        data["gpus"] = data["gpus"][1:]
        data |= {"gpus_used": 2, "cost_per_hour": 7.0, "status": "feasible"}

    less = edited(DEMO, shrink)
    found = difference(DEMO, less)
    assert {change.path: (change.old, change.new) for change in found.figures} == {
        ("status",): ("optimal", "feasible"),
        ("cost_per_hour",): (10.292643, 7.0),
        ("gpus_used",): (3, 2),
    }
    assert found.gpus == {"A100-80GB": (3, 2)}
    assert sum(old - new for old, new in found.partitions.values()) == len(DEMO.gpus[0].partitions)
    moves = {move.workload: move for move in found.moved}
    assert moves["search-embedding"].old == (Place("A100-80GB", "1g.10gb", "gpu-node-1", 0),)
    assert moves["search-embedding"].new == ()
    assert "- search-embedding: not served, was on A100-80GB 1g.10gb on gpu-node-1, GPU 0" in describe_plans(found, 99)
    assert "+ search-embedding: A100-80GB 1g.10gb" in describe_plans(difference(less, DEMO), 99)


def test_plans_of_different_problems_and_of_mps_shares_can_be_compared():
    found = difference(DEMO, IGNITER)
    assert ("problem",) in {change.path for change in found.figures}
    assert found.gpus["V100-SXM2-16GB"][0] == 0
    assert any(size.endswith("%") for _, size in found.partitions)


def test_other_nodes_are_no_difference_where_nodes_do_not_count():
    def swap(data):
        for place, gpu in enumerate(reversed(data["gpus"])):
            gpu["index"] = place

    assert difference(DEMO, edited(DEMO, swap)).moved
    assert not difference(DEMO, edited(DEMO, swap), with_nodes=False)


def test_partitions_of_cpus_differ_by_their_cores():
    plan = solve(example_problems()["cpus"])
    cpu = next(gpu for gpu in plan.gpus if gpu.sharing == "cores")
    first, *others = cpu.partitions
    wider = cpu.model_copy(update={"partitions": (first.model_copy(update={"cores": first.cores + 1}), *others)})
    assert staying(cpu, cpu) == (frozenset(range(len(cpu.partitions))),) * 2
    assert 0 not in staying(cpu, wider)[0]
    more = plan.model_copy(update={"gpus": tuple(wider if gpu is cpu else gpu for gpu in plan.gpus)})
    found = difference(plan, more)
    sizes = {size for gpu, size in found.partitions if gpu == cpu.gpu}
    assert sizes == {f"{first.cores} cores", f"{first.cores + 1} cores"}
    assert first.serves[0].workload in {one.workload for one in found.moved}
