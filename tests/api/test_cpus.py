"""CPUs from file to answer: what is accepted, what is refused with what would be right, who does not know them."""

import json

import jsonschema
import pytest
import yaml
from problems.instances import ROOT
from support.command_line import sliceplan

from sliceplan.app.charts.extents import extents_of, free_cores
from sliceplan.app.charts.fleet_blocks import blocks_of
from sliceplan.solver import api
from sliceplan.solver.check import check
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import dump_problem, example_problems, parse_problem
from sliceplan.solver.formats.profile_files import read_profiles, shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.division import wrong_gpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.unservable import unservable

PROBLEM = example_problems()["cpus"]
TEXT = (ROOT / "plans" / "cpus.yaml").read_text()


@pytest.fixture(scope="module")
def plan():
    return api.solve(PROBLEM)


def refused(text, profiles=None):
    with pytest.raises(InputError) as found:
        api.solve(parse_problem(text, "p.yaml", profiles))
    return str(found.value)


def test_every_cpu_of_the_catalogue_has_sources_and_a_name_of_its_own():
    assert {"Threadripper-3990X", "EPYC-9654", "Graviton2", "Graviton3", "Graviton4", "Grace"} <= load_cpus().keys()
    assert len(load_cpus()) >= 13
    assert not load_cpus().keys() & load_catalogue().keys()
    for cpu in load_cpus().values():
        facts = (cpu.cores, cpu.threads_per_core, cpu.l3_domain_cores, cpu.numa_nodes)
        assert all(len(fact.source) > 10 and (fact.verified or fact.note) for fact in facts), cpu.name
    paper = load_cpus()["Threadripper-3990X"]
    assert (paper.core_count, paper.domain_cores, paper.node_count) == (64, 4, 1)


def test_a_cpu_is_named_by_either_word_and_written_as_cpu():
    short = yaml.safe_load(TEXT)
    long = yaml.safe_load(TEXT)
    entry = long["fleet"][1]
    entry |= {"gpu": entry.pop("cpu"), "sharing": ["cores"]}
    assert parse_problem(json.dumps(long), "p.json") == parse_problem(json.dumps(short), "p.json") == PROBLEM
    written = yaml.safe_load(dump_problem(PROBLEM))
    assert written["fleet"][1] == short["fleet"][1]
    assert "gpu" not in written["profiles"][0]
    schema = json.loads((ROOT / "solver/model/schema/problem.schema.json").read_text())
    jsonschema.validate(short, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(short | {"fleet": [{"count": 1}]}, schema)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cpu: EPYC-9654, count", "cpu: EPYC-96544, count", "Did you mean 'EPYC-9654'"),
        ("cpu: EPYC-9654, count", "gpu: EPYC-9654, count", "expected `cpu: EPYC-9654` in place of `gpu`"),
        ("cpu: EPYC-9654, count", "cpu: T4, count", "is 'T4', which is a GPU; expected `gpu: T4`"),
        ("cpu: EPYC-9654, count", "gpu: T4, cpu: EPYC-9654, count", "expected one of them"),
        ("cpu: EPYC-9654, count", "cpu: EPYC-9654, sharing: [mig], count", "a CPU is divided by cores"),
        ("sharing: [mig]}", "sharing: [mig, cores]}", "a CPU is an entry of its own"),
        ("price_per_hour: 0.45}", "price_factor: 0.5}", "fleet[1].price_per_hour is missing"),
        (
            "cores: 16, batch: 1, processes: 1",
            "cores: 12, batch: 1, processes: 1",
            "a partition of EPYC-9654 has 1 to 8",
        ),
        (
            "cores: 16, batch: 1, processes: 1",
            "sm_percent: 9, batch: 1, processes: 1",
            "expected `cores` in every point",
        ),
        ("  cpu: EPYC-9654\n", "  gpu: A100-80GB\n", "expected `cpu` in place of `gpu`"),
    ],
)
def test_what_cannot_be_is_refused_with_what_would_be(old, new, message):
    assert old in TEXT
    assert message in refused(TEXT.replace(old, new, 1))


def every_size(cpu):
    """Returns the example on another CPU type, with points of a model on 1 to 8 cores."""
    data = yaml.safe_load(TEXT.replace("EPYC-9654", cpu))
    rates = [(n, 1000 * n**0.8 / 26) for n in range(1, 9)]
    data["profiles"][0]["points"] = [
        {"cores": n, "batch": 1, "processes": 1, "latency_ms": round(1000 / rps, 2), "throughput_rps": round(rps, 1)}
        for n, rps in rates
    ]
    return yaml.safe_dump(data)


def test_more_divisions_than_are_listed_are_planned_by_domains():
    problem = parse_problem(every_size("EPYC-9654"), "p.yaml", None)
    plan = api.solve(problem)
    assert plan.status == "optimal"
    assert check(problem, plan, shipped_profiles()) == []
    assert any(gpu.sharing == "cores" for gpu in plan.gpus)


def test_more_cuts_of_one_domain_than_are_listed_are_refused():
    said = refused(every_size("Graviton3")).replace("\n", " ")  # all of its 64 cores are one domain
    assert "divide in too many ways (3,000 are listed at most, in which all L3 domains are cut alike)" in said


def test_memory_is_dealt_by_cores():
    data = yaml.safe_load(TEXT.replace("EPYC-9654", "Graviton3"))
    for profile in data["profiles"]:
        for point in profile["points"]:
            point["memory_mib"] = 5000
    resolved = api.planning.task_of(parse_problem(yaml.safe_dump(data), "p.yaml"), None, None, None, None).resolved
    carries = {size.cores: bool(resolved.capacity_rps[2, k]) for k, size in enumerate(resolved.sizes) if size.cores}
    assert carries == {16: True, 8: True, 4: True, 2: False}  # 2 of the 64 cores have 4 of the 128 GiB
    assert unservable(resolved) == []


def test_who_does_not_know_cpus_says_so(plan, tmp_path):
    path, nodes = tmp_path / "p.json", tmp_path / "out"
    path.write_text(dump_plan(plan))
    done = sliceplan("export", path, "--format", "triton", "-o", nodes)
    assert (done.returncode, "EPYC-9654/0 is a CPU" in done.stderr) == (2, True), done.stderr
    done = sliceplan("transition", path, path)
    assert (done.returncode, "Nothing to do" in done.stdout) == (0, True), done.stderr
    with pytest.raises(InputError, match="replanning knows GPUs only"):
        api.replan(PROBLEM, plan)
    other = api.solve(PROBLEM, "parvagpu")
    assert "parvagpu knows GPUs only; the fleet has the CPUs EPYC-9654" in other.unserved[0].reason


def test_a_cpu_is_drawn_by_l3_domain(plan, tmp_path):
    path = tmp_path / "p.json"
    path.write_text(dump_plan(plan))
    shown = sliceplan("show", path).stdout
    assert "96 cores in 12 L3 domains\n  AaaaBbCc ········ " in shown
    cpu = plan.gpus[1]
    assert [one.size for one in extents_of(cpu)] == ["4 cores", "2 cores", "2 cores"]
    assert [one.size for one in free_cores(cpu)] == ["8 cores"] * 11
    assert sum(one.width for one in (*extents_of(cpu), *free_cores(cpu))) == pytest.approx(1)
    hover = [block.hover for block in blocks_of(plan, PROBLEM, [cpu]) if block.workload]
    assert any("4 cores from 0 on of EPYC-9654/0, L3 domain 0" in text for text in hover)


def wrong(plan, **changes):
    """Returns what is wrong with the division of the plan's CPU, its first partition changed."""
    cpu = plan.gpus[1]
    changed = cpu.partitions[0].model_copy(update=changes)
    gpus = (plan.gpus[0], cpu.model_copy(update={"partitions": (changed, *cpu.partitions[1:])}))
    return [f"{path} {message}" for path, message in wrong_gpus(plan.model_copy(update={"gpus": gpus}))]


def test_the_rule_of_divisions_is_told_where_it_is_broken(plan):
    assert wrong(plan) == []
    assert "a partition of EPYC-9654 has 1 to 8" in wrong(plan, cores=9)[0]
    assert "a partition of EPYC-9654 has 1 to 8" in wrong(plan, cores=None)[0]
    assert "lie within one L3 domain of 8 cores" in wrong(plan, start=14)[0]
    assert "lie from a multiple of 8 on, within one NUMA node" in wrong(plan, cores=16, start=20)[0]
    assert "overlaps partitions[0]" in wrong(plan, start=4)[0]
    assert "a CPU has no MIG instances" in wrong(plan, mig_profile="1g.10gb")[0]
    assert "a partition of a CPU has no share" in wrong(plan, sm_percent=50.0)[0]
    of_gpu = plan.gpus[0].partitions[0].model_copy(update={"cores": 4})
    gpu = plan.gpus[0].model_copy(update={"partitions": (of_gpu, *plan.gpus[0].partitions[1:])})
    assert "a partition of a GPU has no cores" in next(wrong_gpus(plan.model_copy(update={"gpus": (gpu,)})))[1]
    unknown = plan.gpus[1].model_copy(update={"gpu": "A100-80GB"})
    assert "not a CPU of the catalogue" in next(wrong_gpus(plan.model_copy(update={"gpus": (unknown,)})))[1]


def test_cpus_are_listed_and_one_is_printed_whole():
    rows = sliceplan("cpus").stdout
    assert "Graviton3" in rows
    whole = yaml.safe_load(sliceplan("cpus", "Graviton3").stdout)
    assert whole["prices"]["aws-us-east-1"]["usd_per_gpu_hour"] == 2.32
    assert "Did you mean 'Grace'" in sliceplan("cpus", "Graze").stderr


def test_a_load_test_on_cores_becomes_a_profile(tmp_path):
    from stand_ins.load_tests import PERF_ANALYZER

    results, output = tmp_path / "r.csv", tmp_path / "p.yaml"
    results.write_text(PERF_ANALYZER)
    told = ("--model", "ocr", "--batch", "1", "--processes", "1", "-o", output)
    assert (
        sliceplan("import-measurements", "perf-analyzer", results, "--cpu", "Grace", "--cores", "8", *told).returncode
        == 0
    )
    (profile,) = read_profiles(output)
    assert (profile.cpu, profile.gpu, [point.cores for point in profile.points]) == ("Grace", "Grace", [8])
    for options, message in (
        (("--cpu", "Grace"), "--cores: is missing beside --cpu"),
        (("--cores", "8"), "--cpu: is missing beside --cores"),
        (("--cpu", "Grace", "--cores", "80"), "is no partition of Grace, which has 1 to 72"),
        (("--cpu", "Grade", "--cores", "8"), "Did you mean 'Grace'"),
        (("--cpu", "Grace", "--cores", "8", "--gpu", "T4"), "is given beside --cpu"),
    ):
        done = sliceplan("import-measurements", "perf-analyzer", results, *options, *told)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
