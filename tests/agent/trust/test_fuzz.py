"""
Mutated plan files, from the bytes that come in to what would be carried out; nothing is.

Half of them are signed plans that are changed afterwards, which no signature survives. The other half are changed
first and then signed by a trusted key, as by somebody who stole it: what is inside must be refused too, or lead to
steps on this node's GPUs and CPUs and words of the node's own templates alone. An audit hook of the interpreter sees
every program that is started, file that is written and connection that is made, whoever asks for it.

SLICEPLAN_FUZZ sets how many there are, SLICEPLAN_FUZZ_SEED which.
"""

import base64
import json
import os
import pickle
import random
import re
import sys
from pathlib import Path

import pytest
from problems.instances import problem_of

from sliceplan.agent.devices.simulated.core_rules import simulated_cpus
from sliceplan.agent.model.core_steps import StartOnCores
from sliceplan.agent.model.live import LiveGpu
from sliceplan.agent.model.node import Slot, needs_mps
from sliceplan.agent.model.service_environment import mps_folder
from sliceplan.agent.model.slices import confining, starting, stopping
from sliceplan.agent.model.steps import StartService
from sliceplan.agent.services.core_launch import core_launches
from sliceplan.agent.services.launch import SlotDevice, launches
from sliceplan.agent.services.records import record_path
from sliceplan.agent.services.systemd import start_command
from sliceplan.agent.services.template import PLACEHOLDERS, ServiceTemplate
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.agent.trust.dsse import PAYLOAD_TYPE, pre_authentication_encoding, seal
from sliceplan.agent.trust.keys import read_private
from sliceplan.agent.trust.sequence import NewestRelease
from sliceplan.solver.api import solve
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Plan

COUNT = int(os.environ.get("SLICEPLAN_FUZZ", "10000"))
SEED = int(os.environ.get("SLICEPLAN_FUZZ_SEED", "0"))

NEWEST = NewestRelease(sequence=100, sha256="0" * 64)
"""What the node applied last."""

HOSTILE = [
    "; reboot",
    "$(id)",
    "`id`",
    "a b",
    "a\nb",
    "a\0b",
    "\x1b[2J",
    "../../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "-rf",
    "--help",
    "%n%s",
    "{workload.__class__}",
    "a'b\"c",
    "\ud800",
    "\u202etxt",
    "é" * 40,
    "a" * 64,
    "A" * 20_000,
    "",
    "n2",
    "bert",
    "mig",
    "mps",
    "exclusive",
    "7g.80gb",
    "1g.10gb+me",
    "A100-80GB",
    "T4",
]
NUMBERS = [
    0,
    1,
    2,
    3,
    7,
    8,
    63,
    2**31,
    2**53 - 1,
    2**53,
    10**30,
    10**400,
    -1,
    0.5,
    1e-9,
    1e308,
    float("inf"),
    float("nan"),
]
OTHERS = [None, True, False, [], {}, [[]], {"": 0}, [None] * 50]

SAFE_WORD = re.compile(r"[A-Za-z0-9._=/@%:,+-]{0,150}")
"""What an argument, a variable or a path may be made of once a plan's values are in it."""

FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.kill",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "socket.connect",
    "ctypes.dlopen",
)


class Watch:
    """Notes what must not happen, while it is on."""

    def __init__(self):
        self.is_on = False
        self.seen = []
        sys.addaudithook(self._hook)

    def _hook(self, event, arguments):
        if not self.is_on:
            return
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event in FORBIDDEN or writes:
            self.seen.append((event, str(arguments)[:200]))


@pytest.fixture(scope="module")
def watch():
    found = Watch()
    yield found
    found.is_on = False


@pytest.fixture(scope="module")
def base():
    """A plan for two nodes: GPUs cut by MIG, shared by MPS, used whole and in turn, and a CPU."""
    workloads = [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 200},
        {"model": "bert", "rate_rps": 60, "slo_ms": 500},
    ]
    fleet = [{"gpu": "A100-80GB", "nodes": [{"name": "n1", "count": 2}]}]
    data = solve(problem_of(workloads, fleet=fleet)).model_dump(mode="json")
    (served,) = data["gpus"][0]["partitions"][0]["serves"]
    place = {"gpu": "A100-80GB", "node": "n1"}
    share = {"mig_profile": None, "start": None, "sm_percent": 40.0, "duty_cycle_ms": None}
    shares = [{**share, "serves": [{**served, "workload": name, "memory_mib": 8000.0}]} for name in ("a", "b")]
    whole = {**share, "sm_percent": None, "serves": [{**served, "workload": "c", "processes": 2}]}
    turn = {**served, "processes": 1, "capacity_rps": served["batch"] / 5.0, "rate_rps": served["batch"] / 10.0}
    rounds = [{**turn, "workload": name} for name in ("d", "e")]
    in_turn = {**whole, "serves": rounds, "duty_cycle_ms": 5000.0, "turns": "fixed"}
    on_cores = [{**whole, "start": start, "cores": 8, "serves": [{**served, "workload": "f"}]} for start in (0, 8)]
    data["gpus"] += [
        {**place, "id": "A100-80GB/8", "index": 2, "sharing": "mps", "partitions": shares},
        {**place, "id": "A100-80GB/9", "index": 3, "sharing": "exclusive", "partitions": [whole]},
        {**data["gpus"][0], "id": "A100-80GB/10", "node": "n2", "index": 0},
        {**place, "id": "A100-80GB/11", "index": 4, "sharing": "exclusive", "partitions": [in_turn]},
        {**place, "gpu": CPU, "id": f"{CPU}/0", "index": 0, "sharing": "cores", "partitions": on_cores},
    ]
    Plan.model_validate(data)
    dates = {"issued_at": "2026-11-21T12:00:00Z", "expires_at": None}
    return {"version": 1, "sequence": 101, **dates, "plan": data}


@pytest.fixture(scope="module")
def sealed(trust):
    """Returns a function that signs any payload with the trusted key."""
    key = read_private(trust.folder / "signer")

    def sign(payload):
        return seal(payload, trust.name, key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))).encode()

    return sign


CPU = "Xeon-8275CL"
LIVE = {index: LiveGpu("A100-80GB", f"GPU-{index}") for index in range(5)} | {"cpu0": simulated_cpus([CPU])[0]}
TEMPLATE = ServiceTemplate.model_validate(
    {
        "command": ["/usr/bin/serve", *(f"--{name}={{{name}}}" for name in PLACEHOLDERS)],
        "env": {"NAME": "{workload}"},
        "ports": [20000, 60000],
        "user": "serve",
    }
)


def test_a_signed_plan_that_was_changed_is_refused_or_says_the_same(trust, base, sealed, watch):
    dice = random.Random(SEED)
    good = sealed(json.dumps(base).encode())
    expected = trust.accepted(good, newest=NEWEST)
    refused = 0
    for number in range(COUNT // 2):
        data = changed_bytes(good, dice)
        watch.is_on = True
        try:
            accepted = trust.accepted(data, newest=NEWEST)
        except InputError as error:
            refused += 1
            check_message(error, number)
        else:
            assert accepted.sha256 == expected.sha256, f"mutation {number} of seed {SEED}"
            assert accepted.desired == expected.desired
        finally:
            watch.is_on = False
    assert watch.seen == []
    assert refused > COUNT // 2 * 0.8, "most mutations break something"


def test_what_a_stolen_key_signs_leads_to_this_nodes_gpus_and_templates_alone(trust, base, sealed, watch):
    dice = random.Random(SEED + 1)
    refused = reached = 0
    for number in range(COUNT - COUNT // 2):
        payload = changed_payload(base, dice)
        data = sealed(payload)
        watch.is_on = True
        try:
            accepted = trust.accepted(data, newest=NEWEST)
            transition = plan_transition(LIVE, accepted.desired)
            words = list(words_of(transition))
        except InputError as error:
            refused += 1
            check_message(error, number)
            continue
        finally:
            watch.is_on = False
        where = f"mutation {number} of seed {SEED + 1}"
        assert accepted.release.sequence > NEWEST.sequence, where
        if transition.impossible:
            refused += 1
            continue
        reached += 1
        assert {step.device for step in transition.steps} <= LIVE.keys(), where
        assert [word for word in words if not SAFE_WORD.fullmatch(word)] == [], where
    assert watch.seen == []
    assert refused > COUNT * 0.2
    assert reached > COUNT * 0.02, "harmless mutations go through"


def words_of(transition):
    """Yields every word, variable and path that the steps of a transition would use."""
    run = Path("/run/sliceplan")
    for step in transition.steps:
        if isinstance(step, StartOnCores):
            yield from words_on_cores(step, run)
        if not isinstance(step, StartService):
            continue
        slot, service = step.slot, step.service
        folder = mps_folder(slot) if needs_mps([service]) else None
        mig = "MIG-1" if slot.start is not None else None
        path = record_path(run / "services", slot, service)
        assert path.parent == run / "services"
        assert path.resolve().is_relative_to(run)
        yield str(path)
        if service.processes > 64:
            continue  # the driver's limit of clients refuses so many before any is started
        device = SlotDevice(f"GPU-{slot.gpu_index}", mig, folder)
        for launch in launches(Slot(*slot), service, TEMPLATE, device, iter(range(20000, 60000))):
            assert launch.argv[0] == "/usr/bin/serve"
            assert len(launch.argv) == 1 + len(PLACEHOLDERS)
            assert launch.user == "serve"
            yield from launch.argv
            yield from (f"{name}={value}" for name, value in launch.environment.items())
            yield from start_command(launch)


def words_on_cores(step, run):
    """Yields the words of a step on cores."""
    path = run / "cores" / f"{step.name}.json"
    assert path.parent == run / "cores"
    yield str(path)
    yield from (*confining(step), *starting(step.name), *stopping(step.name))
    for launch in core_launches(step.name, step.cpu_index, step.service, TEMPLATE, iter(range(20000, 60000))):
        assert launch.argv[0] == "/usr/bin/serve"
        assert launch.user == "serve"
        yield from (f"{name}={value}" for name, value in launch.environment.items())
        yield from start_command(launch)


def check_message(error, number):
    """A refusal says where and what, in words that any terminal can show."""
    text = str(error)
    text.encode()
    assert text.startswith("signed.json"), f"mutation {number}: {text[:200]}"
    assert len(text) < 100_000
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text), f"mutation {number}: {text[:200]!r}"


def changed_bytes(good, dice):
    """Returns a signed plan with something changed: its bytes, or fields of its envelope."""
    kind = dice.randrange(8)
    if kind == 0:  # bits
        data = bytearray(good)
        for _ in range(dice.randint(1, 5)):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        return bytes(data)
    if kind == 1:  # a part is gone, or there twice
        start, stop = sorted(dice.randrange(len(good)) for _ in range(2))
        return good[:start] + good[stop:] if dice.random() < 0.5 else good[:stop] + good[start:]
    if kind == 2:  # something in between
        at = dice.randrange(len(good))
        return (
            good[:at]
            + dice.choice([b"{", b"[", b'"', b"\\", b"\0", b"NaN", b"1e999", b"\xff", b"[" * 1000])
            + good[at:]
        )
    envelope = json.loads(good)
    if kind == 3:  # the payload's bytes
        payload = bytearray(base64.b64decode(envelope["payload"]))
        payload[dice.randrange(len(payload))] ^= 1 << dice.randrange(8)
        envelope["payload"] = base64.b64encode(payload).decode()
    elif kind == 4:  # the signature's
        signature = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
        signature[dice.randrange(len(signature))] ^= 1 << dice.randrange(8)
        envelope["signatures"][0]["sig"] = base64.b64encode(signature).decode()
    elif kind == 5:  # a plan of another number, or for another node, under the same signature
        payload = base64.b64decode(envelope["payload"])
        old, new = dice.choice([(b"101", b"999"), (b'"n1"', b'"n2"'), (b'"n2"', b'"n1"'), (b"0", b"1")])
        envelope["payload"] = base64.b64encode(payload.replace(old, new)).decode()
    else:
        mutate(envelope, dice)
    return dumped(envelope, dice)


def changed_payload(base, dice):
    """Returns a release with something changed in it; it is signed afterwards."""
    release = copied(base)
    if dice.random() < 0.05:
        release["sequence"] = dice.randint(0, 100)
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        mutate(release, dice)
    return dumped(release, dice)


def mutate(tree, dice):
    """Changes one place of a tree of JSON."""
    places = []
    _note_places(tree, places)
    parent, key = dice.choice(places)
    kind = dice.randrange(7)
    if kind == 0:
        parent[key] = dice.choice(HOSTILE)
    elif kind == 1:
        parent[key] = dice.choice(NUMBERS)
    elif kind == 2:
        parent[key] = copied(dice.choice(OTHERS))
    elif kind == 3 and isinstance(parent, dict):
        del parent[key]
    elif kind == 4 and isinstance(parent, dict):
        parent[dice.choice([*HOSTILE[:20], "shell", "command", "node"])] = copied(parent[key])
    elif kind == 5 and isinstance(parent, list):
        parent.append(copied(parent[key]))
    else:
        other, other_key = dice.choice(places)
        parent[key] = copied(other[other_key])


def copied(tree):
    """As copy.deepcopy, ten times as fast."""
    return pickle.loads(pickle.dumps(tree))


def _note_places(tree, places):
    """Notes every place of a tree as its parent and key."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        places.append((tree, key))
        if isinstance(value, dict | list):
            _note_places(value, places)


def dumped(tree, dice):
    """Returns JSON, on one line or many, sometimes with a key that stands twice or with deep nesting."""
    text = json.dumps(tree, separators=dice.choice([(", ", ": "), (",\n ", ": ")]))
    if dice.random() < 0.03:
        text = text.replace("{", '{"version": 1, "version": 1,', 1)
    if dice.random() < 0.03:
        text = text.replace(":", ":" + "[" * dice.choice([5, 30, 5000]), 1)
    return text.encode()
