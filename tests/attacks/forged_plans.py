"""
Plans that no node may take: forged, replayed and malformed ones, at the gate of the agent.

    python tests/attacks/forged_plans.py [COUNT [SEED]]

prints one line of JSON: how many of each kind were tried, how many were accepted (an error), and how long the slowest
took. Malformed ones are signed by the trusted key, as by somebody who stole it: nothing but their content is wrong.
"""

import base64
import json
import sys
import time
from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime
from random import Random

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sliceplan.agent.trust.acceptance import accept
from sliceplan.agent.trust.dsse import PAYLOAD_TYPE, pre_authentication_encoding
from sliceplan.agent.trust.keys import key_id
from sliceplan.agent.trust.release import digest
from sliceplan.agent.trust.sequence import NewestRelease
from sliceplan.solver.model.errors import InputError

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)

MOST_S = 1.0
"""Processor time in which each is answered; asserted of the program's run, not in tests on a busy machine."""


def plan():
    """A plan for two nodes: a GPU cut by MIG, one shared by MPS, one used whole; n2 has one more."""
    place = {"gpu": "A100-80GB", "node": "n1"}
    served = {
        "workload": "bert",
        "batch": 8,
        "processes": 2,
        "latency_ms": 20.0,
        "capacity_rps": 800.0,
        "rate_rps": 500.0,
        "basis": "fitted",
        "causes_ms": None,
        "memory_mib": None,
    }
    none = {"mig_profile": None, "start": None, "sm_percent": None, "duty_cycle_ms": None}
    instances = [
        {**none, "mig_profile": "3g.40gb", "start": 0, "serves": [served]},
        {**none, "mig_profile": "1g.10gb", "start": 4, "serves": [{**served, "workload": "small", "processes": 1}]},
    ]
    shares = [
        {**none, "sm_percent": 40.0, "serves": [{**served, "workload": name, "memory_mib": 8000.0}]} for name in "ab"
    ]
    whole = [{**none, "serves": [{**served, "workload": "c"}]}]
    gpus = [
        {**place, "id": "A100-80GB/0", "index": 0, "sharing": "mig", "partitions": instances},
        {**place, "id": "A100-80GB/1", "index": 1, "sharing": "mps", "partitions": shares},
        {**place, "id": "A100-80GB/2", "index": 2, "sharing": "exclusive", "partitions": whole},
        {**place, "id": "A100-80GB/3", "index": 0, "sharing": "exclusive", "partitions": whole, "node": "n2"},
    ]
    return {
        "version": 1,
        "problem": {"name": "attacked", "sha256": "0" * 64},
        "planner": "exact",
        "status": "feasible",
        "cost_per_hour": 10.0,
        "gpus_used": 4,
        "bound": {"cost_per_hour": None, "gpus": None, "method": "none"},
        "gap": None,
        "search": {"stopped": "heuristic_done", "time_limit_s": None, "solver": None},
        "runtime_s": 0.1,
        "gpus": gpus,
        "unserved": [],
        "violations": [],
        "warnings": [],
        "shadow": None,
        "metrics": None,
    }


def release(sequence=101, expires_at=None):
    """A release that the gate takes as it is."""
    return {
        "version": 1,
        "sequence": sequence,
        "issued_at": "2026-11-22T11:00:00Z",
        "expires_at": expires_at,
        "plan": plan(),
    }


class Gate:
    """A node n1 that trusts one key and has applied release 100."""

    def __init__(self):
        self.key, self.stranger = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
        self.trusted = {key_id(self.key.public_key()): self.key.public_key()}
        newest = release(sequence=100)
        self.newest_payload = dumped(newest)
        self.newest = NewestRelease(sequence=100, sha256=digest(self.newest_payload))

    def sealed(self, payload, key=None, kind=PAYLOAD_TYPE):
        """Returns an envelope with a signature of a key, the trusted one if none is named."""
        signature = (key or self.key).sign(pre_authentication_encoding(kind, payload))
        return envelope(payload, signature, key_id(self.key.public_key()), kind)

    def takes(self, data):
        """Tells whether the gate opens; any other end than a refusal in words is an error."""
        try:
            accept(data, "signed.json", node="n1", keys=self.trusted, newest=self.newest, now=NOW)
        except InputError as error:
            said = str(error)
        else:
            return True
        assert said.startswith("signed.json"), said[:500]
        assert len(said) < 100_000, said[:500]
        return False


def dumped(data):
    """Returns JSON as bytes; a string of the form <<TEXT>> stands for TEXT itself, which JSON may not have."""
    return json.dumps(data).replace('"<<', "").replace('>>"', "").encode()


def envelope(payload, signature, keyid="", kind=PAYLOAD_TYPE, times=1):
    one = {"keyid": keyid, "sig": base64.b64encode(signature).decode()}
    return dumped({"payloadType": kind, "payload": base64.b64encode(payload).decode(), "signatures": [one] * times})


# Forged: the signature is not the trusted key's over these bytes.


def by_a_stranger(gate, dice):
    return gate.sealed(dumped(release(dice.randint(101, 10**6))), gate.stranger)


def with_the_signature_of_another_release(gate, dice):
    genuine = json.loads(gate.sealed(dumped(release(dice.randint(101, 10**6)))))
    genuine["payload"] = base64.b64encode(dumped(release(dice.randint(10**6 + 1, 10**7)))).decode()
    return dumped(genuine)


def with_bits_changed(gate, dice):
    genuine = json.loads(gate.sealed(dumped(release())))
    place = dice.choice(["payload", "sig"])
    holder = genuine if place == "payload" else genuine["signatures"][0]
    data = bytearray(base64.b64decode(holder[place]))
    for _ in range(dice.choice([1, 1, 2, 8])):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    before = holder[place]
    holder[place] = base64.b64encode(data).decode()
    return dumped(genuine) if holder[place] != before else by_a_stranger(gate, dice)


def signed_in_another_way(gate, dice):
    payload = dumped(release(dice.randint(101, 10**6)))
    kind = PAYLOAD_TYPE.encode()
    other = dice.choice(
        [
            payload,
            kind + payload,
            b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload) + 1, payload),
            b"DSSEv1 0  %d %b" % (len(payload), payload),
            pre_authentication_encoding("application/json", payload),
            base64.b64encode(payload),
            digest(payload).encode(),
        ]
    )
    return envelope(payload, gate.key.sign(other))


def of_another_kind(gate, dice):
    kind = dice.choice(
        ["application/json", "", PAYLOAD_TYPE.upper(), PAYLOAD_TYPE + " ", "application/vnd.in-toto+json"]
    )
    return gate.sealed(dumped(release()), kind=kind)


def with_a_signature_that_is_none(gate, dice):
    payload = dumped(release())
    genuine = gate.key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    order = 2**252 + 27742317777372353535851937790883648493
    # A second form of the same signature: s + L, which a strict verifier refuses.
    malleable = genuine[:32] + (int.from_bytes(genuine[32:], "little") + order).to_bytes(32, "little")
    public = gate.key.public_key().public_bytes_raw()
    bad = [
        b"",
        b"\0" * 64,
        b"\x01" + b"\0" * 63,
        genuine[:63],
        genuine + b"\0",
        genuine[32:] + genuine[:32],
        public * 2,
    ]
    return envelope(payload, dice.choice([*bad, malleable]), times=dice.choice([1, 2, 16]))


def without_a_signature(_gate, dice):
    payload = base64.b64encode(dumped(release())).decode()
    signatures = dice.choice([[], None, {}, "", [None], [{}], [{"sig": ""}], [{"keyid": "x"}], [{"sig": "YQ=="}] * 17])
    return dice.choice(
        [
            dumped({"payloadType": PAYLOAD_TYPE, "payload": payload, "signatures": signatures}),
            dumped(plan()),
            dumped(release()),
        ]
    )


def of_no_form(_gate, dice):
    return dice.choice(
        [
            b"",
            b"\0" * dice.randint(1, 1000),
            bytes(dice.randrange(256) for _ in range(dice.randint(1, 200))),
            b"[" * dice.choice([10, 100, 10**6]),
            b'{"a":' * 10**5,
            b'{"payload": "' + b"A" * dice.choice([10, 10**6, 16 * 2**20]),
            b"\xff\xfe{}",
            b'"' * 10**6,
            b'{"payloadType": "a", "payloadType": "b"}',
            b"1" * dice.choice([10, 10**6]),
            b" " * (16 * 2**20 + 1),
        ]
    )


# Replayed: the trusted key did sign it, but not for this node now.


def an_older_number(gate, dice):
    return gate.sealed(dumped(release(dice.randint(1, 99))))


def the_newest_number_for_something_else(gate, dice):
    other = release(100)
    other["plan"]["gpus"][0]["partitions"][0]["serves"][0]["batch"] = dice.randint(9, 64)
    return gate.sealed(dumped(other))


def after_its_end(gate, dice):
    end = f"20{dice.randint(10, 25)}-0{dice.randint(1, 9)}-01T00:00:00Z"
    return gate.sealed(dumped(release(dice.randint(101, 10**6), end)))


def for_another_node(gate, dice):
    data = release(dice.randint(101, 10**6))
    name = dice.choice(["n2", "n3", "N1", "n1.", "n11", None])
    for gpu in data["plan"]["gpus"]:
        gpu["node"] = name
    return gate.sealed(dumped(data))


# Malformed: the trusted key signed it, for this node and now; what it says cannot be.

ENDLESS = [
    "<<NaN>>",
    "<<Infinity>>",
    "<<-Infinity>>",
    "<<1e999>>",
    "<<-1e999>>",
    f"<<{'9' * 400}>>",
    f"<<-{'9' * 400}>>",
]

NO_NUMBER = [-1, -(10**15), -1e300, "x", "", [], {}, [1]]

MUCH = [10**4, 10**15, 2**53 - 1, 1e15, 1e300]

NUMBERS = {
    "index": [255, *MUCH],
    "start": [1, 2, 3, 7, *MUCH],
    "sm_percent": [0, 100.0001, 99.0, *MUCH],
    "batch": [0, 0.5, 2**20 + 1, *MUCH[1:]],
    "processes": [0, 0.5, 49, 1000, *MUCH],
    "latency_ms": [0, 86_400_001, 1e300],
    "capacity_rps": [0, 1.1e12, 1e300],
    "rate_rps": [1.1e12, 1e300],
    "memory_mib": [0, 82_000, *MUCH[1:]],
    "duty_cycle_ms": [0, 1, *MUCH],
    "gpus_used": [0.5],
    "cost_per_hour": [],
    "runtime_s": [],
    "version": [0, 2, *MUCH],
}
"""Field -> values that are wrong there, beside those that no number may have."""


def a_number_that_cannot_be(gate, dice):
    data = release()
    found = [(holder, name) for holder, name in places(data) if name in NUMBERS and fits(holder, name)]
    holder, name = dice.choice(found)
    holder[name] = deepcopy(dice.choice([*ENDLESS, *NO_NUMBER, *NUMBERS[name]]))
    return gate.sealed(dumped(data))


def fits(holder, name):
    """Leaves out what is null where it stands, so that another finding could hide what is looked for, and n2's."""
    if holder.get("node") == "n2":
        return False
    return holder[name] is not None or name in ("sm_percent", "duty_cycle_ms")


def places(tree):
    """Yields each field as what holds it and its name; those of n2 are no matter of this node."""
    if isinstance(tree, dict):
        if tree.get("node") == "n2":
            return
        for name, value in tree.items():
            yield tree, name
            yield from places(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from places(value)


def what_does_not_fit_together(gate, dice):
    data = release()
    mig, mps, whole, _ = data["plan"]["gpus"]
    kind = dice.randrange(10)
    if kind == 0:  # instances that overlap
        mig["partitions"][1] |= {"start": dice.choice([0, 1, 2, 3])}
    elif kind == 1:  # more of them than fit
        mig["partitions"] = [{**mig["partitions"][1], "start": start % 7} for start in range(dice.randint(8, 500))]
    elif kind == 2:  # two workloads on an instance
        mig["partitions"][0]["serves"] *= 2
    elif kind == 3:  # a GPU twice
        mps["index"] = mig["index"]
    elif kind == 4:  # more than all of a GPU
        mps["partitions"] = mps["partitions"] * dice.randint(2, 30)
    elif kind == 5:  # many processes on many shares
        for share in mps["partitions"]:
            share["serves"][0] |= {"processes": dice.randint(25, 10**6), "memory_mib": None}
    elif kind == 6:  # a whole GPU in parts
        whole["partitions"] *= dice.randint(2, 100)
    elif kind == 7:  # what belongs to another kind of sharing
        dice.choice([mps, whole])["sharing"] = "mig"
    elif kind == 8:  # a GPU that nobody makes, or without what it is asked for
        mig["gpu"] = dice.choice(["A100", "T4", "", "V100-SXM2-16GB", "x" * 10**5])
    else:  # taking turns, which the agent does not do
        mig["partitions"][0]["duty_cycle_ms"] = 10.0
        mig["partitions"][0]["serves"] *= 2
    return gate.sealed(dumped(data))


def a_field_too_many_or_too_few(gate, dice):
    data = release()
    holder, name = dice.choice([(h, n) for h, n in places(data) if n not in OPTIONAL])
    if dice.random() < 0.5:
        holder[dice.choice(["command", "shell", "x" * 1000, "", f"{name} "])] = "reboot"
    else:
        del holder[name]
    return gate.sealed(dumped(data))


OPTIONAL = ("memory_mib",)


def a_name_that_is_none(gate, dice):
    data = release()
    holder, name = dice.choice([(h, n) for h, n in places(data) if n in ("workload", "node", "mig_profile", "sharing")])
    holder[name] = dice.choice(
        ["", ".", "..", "../x", "a b", "a\nb", "a\0b", "-rf", "$(id)", "é", "a" * 64, "a" * 10**6, "{workload}", 7, []]
    )
    return gate.sealed(dumped(data))


def too_deep_or_too_large(gate, dice):
    text = dumped(release()).decode()
    kind = dice.randrange(4)
    if kind == 0:
        text = text.replace('"gpus": [', '"gpus": ' + "[" * dice.choice([25, 1000, 10**5]), 1)
    elif kind == 1:
        text = text.replace("{", '{"version": 1, "version": 1, ', 1)
    elif kind == 2:
        text = text.replace('"attacked"', '"' + "a" * dice.choice([64, 10**6, 10**7]) + '"', 1)
    else:
        text = text[: dice.randrange(len(text))]
    return gate.sealed(text.encode())


FORGED = (
    by_a_stranger,
    with_the_signature_of_another_release,
    with_bits_changed,
    signed_in_another_way,
    of_another_kind,
    with_a_signature_that_is_none,
    without_a_signature,
    of_no_form,
)
REPLAYED = (an_older_number, the_newest_number_for_something_else, after_its_end, for_another_node)
MALFORMED = (
    a_number_that_cannot_be,
    a_number_that_cannot_be,
    a_number_that_cannot_be,
    what_does_not_fit_together,
    a_field_too_many_or_too_few,
    a_name_that_is_none,
    too_deep_or_too_large,
)


def attack(count, seed=0):
    """Tries plans, of which none may be taken; returns how many of each kind, and the slowest with its seconds."""
    gate, dice = Gate(), Random(seed)
    assert gate.takes(gate.sealed(dumped(release()))), "what is right is taken"
    assert gate.takes(gate.sealed(gate.newest_payload)), "what runs may be applied again"
    tried, slowest = Counter(), (0.0, "")
    for number in range(count):
        kind = ("forged", "replayed", "malformed")[number % 3]
        make = dice.choice({"forged": FORGED, "replayed": REPLAYED, "malformed": MALFORMED}[kind])
        data = make(gate, dice)
        began = time.process_time()
        taken = gate.takes(data)
        slowest = max(slowest, (time.process_time() - began, make.__name__))
        assert not taken, f"{make.__name__}, number {number} of seed {seed}: {data[:3000]!r}"
        tried[kind] += 1
        tried[make.__name__] += 1
    return tried, slowest


def main(count=10_000, seed=0):
    """Prints what came of it."""
    tried, (slowest_s, which) = attack(count, seed)
    assert slowest_s < MOST_S, f"{which} took {slowest_s:.2f} s"
    print(json.dumps({"tried": count, "accepted": 0, "slowest_ms": round(slowest_s * 1000), "which": which, **tried}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
