"""
Plan servers drawn at random, and whether the agent leaves each in time and takes no plan but a whole one.

    .venv/bin/python tests/attacks/hostile_servers.py [--count 200] [--seed 1]

A server sends pieces of answers, right and wrong, whole, cut, repeated or with bytes changed, before or after the TLS
handshake, at once or byte by byte; then it closes, says nothing more, or goes on for ever.
"""

import argparse
import contextlib
import itertools
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from stand_ins.plan_server import PlanServer

from sliceplan.agent.trust.plan_source import PlanSource
from sliceplan.solver.model.errors import InputError

DEADLINE_S = 0.4

PLAN = b"a plan"

WHOLE = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nETag: x\r\n\r\na plan",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na \r\n4\r\nplan\r\n0\r\n\r\n",
)

PIECES = (
    *WHOLE,
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 206 Partial Content\r\nContent-Length: 6\r\n\r\na plan",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: http://localhost/plan\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 500 Oops\r\nContent-Length: 1073741824\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Length: 7\r\n\r\na plan",
    b"HTTP/1.1 200 OK\r\nContent-Length: -6\r\n\r\na plan",
    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\na plan",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\na plan",
    b"HTTP/9.9 200 OK\r\n\r\n",
    b"A: " + b"b" * 70_000 + b"\r\n",
    b"A: b\r\n" * 200,
    b"ffffffffffffffff\r\n",
    b"\r\n\r\n",
    b"\x00\x16\x03\x03\x40\x00",
    b"\xff" * 5000,
)

ENDS = ("closes", "is silent", "repeats")


@dataclass(frozen=True)
class Script:
    """What a server does with each connection."""

    data: bytes
    end: str
    byte_by_byte: bool
    before_tls: bool

    def __call__(self, server, connection):
        """Carries it out."""
        if self.byte_by_byte:
            server.drip(connection, (self.data[i : i + 1] for i in range(len(self.data))), pause_s=0.01)
        else:
            connection.sendall(self.data)
        if self.end == "is silent":
            server.ends.wait()
        elif self.end == "repeats":
            server.drip(connection, itertools.repeat(self.data[-4096:]), pause_s=0.001)

    def may_give(self, plan):
        """Tells whether an answer of status 200 (after those of 100) has all of a plan, by its length or in chunks."""
        status = re.match(rb"(?s)(HTTP/1\.. 100.*?\r\n\r\n)*HTTP/1\.. 200", self.data)
        sent = self.data + (self.data[-4096:] if self.end == "repeats" else b"")
        by_length = b"Length: %d" % len(plan) in self.data and plan in sent
        in_chunks = plan == PLAN and b"2\r\na \r\n4\r\nplan\r\n0\r\n" in self.data
        return bool(status) and (by_length or in_chunks) and not self.before_tls


def drawn(rng):
    """Returns a server's script."""
    data = b"".join(rng.choices(PIECES, k=rng.randint(1, 3)))
    if rng.random() < 0.5:
        data = data[: rng.randint(0, len(data))]
    changed = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 3))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    end = rng.choice(ENDS)
    byte_by_byte = len(changed) < 400 and rng.random() < 0.3
    return Script(bytes(changed) or b"\n", end, byte_by_byte, before_tls=rng.random() < 0.1)


@dataclass
class Outcome:
    """How the agent fared."""

    refused: int = 0
    taken: int = 0
    longest_s: float = 0.0
    wrong: list[str] = field(default_factory=list)
    """Of each server that got what it should not, which and what."""


def attack(count, seed, grace_s):
    """Has the agent ask random servers, each with a deadline of DEADLINE_S, which may be missed by `grace_s`."""
    outcome = Outcome()
    for i in range(count):
        script = drawn(Random(f"{seed}-{i}"))
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(PlanServer(Path(folder), script)) as server:
            source = PlanSource(
                f"https://localhost:{server.port}/plan", timeout_s=DEADLINE_S, ca_file=server.certificate
            )
            begun = time.monotonic()
            try:
                data = source.fetch().data
            except InputError as error:
                outcome.refused += 1
                why = "" if str(error).strip() else "refused without a sentence"
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
            else:
                outcome.taken += 1
                why = "" if script.may_give(data) else f"took {data!r}"
            took = time.monotonic() - begun
        outcome.longest_s = max(outcome.longest_s, took)
        if not why and took > DEADLINE_S + grace_s:
            why = f"held for {took:.1f} s"
        if why:
            outcome.wrong.append(f"seed {seed}, server {i}: {why}\n{script}")
    return outcome


def main():
    """Prints how it ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    outcome = attack(asked.count, asked.seed, grace_s=1.0)
    print("\n\n".join(outcome.wrong))
    print(f"{outcome.refused} refused, {outcome.taken} whole answers taken")
    print(f"the longest took {outcome.longest_s:.2f} s of a deadline of {DEADLINE_S} s; {len(outcome.wrong)} wrong")
    sys.exit(bool(outcome.wrong))


if __name__ == "__main__":
    main()
