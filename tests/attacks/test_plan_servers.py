"""
Plan servers that mean harm: slow, endless, huge, cut short, redirecting. None holds the agent beyond its deadline.

Each is a few lines of a raw TLS server: what is sent, and how long it goes on. Deadlines are of 0.4 s and more; that an
answer came within GRACE_S of one is asserted because being held is the attack.
"""

import itertools
import json
import random
import resource
import socket
import time

import pytest
from attacks.hostile_servers import attack
from stand_ins.plan_server import PlanServer

from sliceplan.agent.model.desired import Desired, PlanReference
from sliceplan.agent.transition.lock import locked
from sliceplan.agent.transition.reconcile import Rules, look
from sliceplan.agent.transition.session import Session
from sliceplan.agent.transition.state_folder import StateFolder
from sliceplan.agent.trust.plan_source import PlanSource
from sliceplan.agent.trust.strict_json import MAX_BYTES
from sliceplan.solver.model.errors import InputError

DEADLINE_S = 0.4

GRACE_S = 20.0
"""A busy machine may be late by seconds; a server that holds the agent holds it for ever."""

MAX_MIB = 100


@pytest.fixture
def serving(tmp_path):
    servers = []

    def start(script):
        servers.append(PlanServer(tmp_path, script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def source_of(server, timeout_s=DEADLINE_S):
    return PlanSource(f"https://localhost:{server.port}/plan", timeout_s=timeout_s, ca_file=server.certificate)


def refused_in_time(server, timeout_s=DEADLINE_S):
    """Returns what the agent says, having asserted that it was not held."""
    began = time.monotonic()
    with pytest.raises(InputError) as caught:
        source_of(server, timeout_s).fetch()
    assert time.monotonic() - began < timeout_s + GRACE_S
    return str(caught.value)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"


def silent(server, _connection):
    """Says nothing at all, in place of a handshake too."""
    server.ends.wait(GRACE_S * 2)


silent.before_tls = True


def silent_after_the_request(server, _connection):
    server.ends.wait(GRACE_S * 2)


def handshake_byte_by_byte(server, connection):
    server.drip(connection, itertools.chain(b"\x16\x03\x03\x40\x00"[i : i + 1] for i in range(5)))
    server.drip(connection, itertools.repeat(b"\x00"))


handshake_byte_by_byte.before_tls = True


def status_byte_by_byte(server, connection):
    server.drip(connection, itertools.repeat(b"H"))


def endless_headers(server, connection):
    server.drip(connection, itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"A: b\r\n")))


def endless_header_line(server, connection):
    server.drip(connection, itertools.chain([b"HTTP/1.1 200 OK\r\nA: "], itertools.repeat(b"b")))


def continues_for_ever(server, connection):
    server.drip(connection, itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"))


def body_byte_by_byte(server, connection):
    server.drip(
        connection, itertools.chain([b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"], itertools.repeat(b" "))
    )


def chunks_without_end(server, connection):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server.drip(connection, itertools.chain([head], itertools.repeat(b"1\r\n \r\n")))


def chunk_size_without_end(server, connection):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server.drip(connection, itertools.chain([head], itertools.repeat(b"0")))


def trailers_without_end(server, connection):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\na plan\r\n0\r\n"
    server.drip(connection, itertools.chain([head], itertools.repeat(b"A: b\r\n")))


def redirect_with_an_endless_body(server, connection):
    head = f"HTTP/1.1 302 Found\r\nLocation: https://localhost:{server.port}/on\r\nContent-Length: 1073741824\r\n\r\n"
    connection.sendall(head.encode())
    server.drip(connection, itertools.repeat(b" " * 65536), pause_s=0)


def error_with_an_endless_body(server, connection):
    connection.sendall(b"HTTP/1.1 500 Oops\r\nContent-Length: 1073741824\r\n\r\n")
    server.drip(connection, itertools.repeat(b" " * 65536), pause_s=0)


SLOW = [
    silent,
    silent_after_the_request,
    handshake_byte_by_byte,
    status_byte_by_byte,
    endless_headers,
    endless_header_line,
    continues_for_ever,
    body_byte_by_byte,
    chunks_without_end,
    chunk_size_without_end,
    trailers_without_end,
    redirect_with_an_endless_body,
    error_with_an_endless_body,
]


@pytest.mark.parametrize("script", SLOW, ids=lambda script: script.__name__)
def test_a_server_that_never_ends_is_left_at_the_deadline(serving, script):
    assert "https://localhost" in refused_in_time(serving(script))


def answering(data):
    return lambda _server, connection: connection.sendall(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", "answers 204 No Content; expected 200 and a signed plan"),
        (b"HTTP/1.1 206 Partial Content\r\nContent-Length: 6\r\n\r\na plan", "answers 206"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", "answers 304"),
        (b"HTTP/1.1 203 Other\r\nContent-Length: 6\r\n\r\na plan", "answers 203"),
        (b"HTTP/1.1 302 Found\r\n\r\n", "answers 302"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\na plan", "it ended before all of the answer was there"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\na plan\r\n",
            "it ended before all of the answer was there",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na plan\r\n",
            "it ended before all of the answer was there",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\na plan", "does not say how long its answer is"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -6\r\n\r\na plan", "does not say how long its answer is"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\na plan", "is larger than 16 MiB"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", "got more than 100 headers"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 70_000 + b"\r\n\r\n", "got more than 65536 bytes"),
        (b"\x00\x01\x02\r\n\r\n", "cannot be fetched"),
        (b"", "cannot be fetched"),
    ],
)
def test_an_answer_that_is_not_all_of_a_200_is_refused(serving, data, message):
    assert message in refused_in_time(serving(answering(data)), timeout_s=10)


def test_an_answer_in_chunks_is_taken_when_its_last_chunk_is_there(serving):
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na \r\n4;x=y\r\nplan\r\n0\r\nA: b\r\n\r\n"
    assert source_of(serving(answering(data)), 10).fetch().data == b"a plan"


def test_random_parts_of_answers_are_never_taken_for_a_plan(serving):
    """Cuts right answers at random places; only the whole ones count."""
    rng = random.Random(5)
    whole = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nETag: x\r\n\r\na plan",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na \r\n4\r\nplan\r\n0\r\n\r\n",
    ]
    sent = []
    server = serving(lambda _, connection: connection.sendall(sent[-1]))
    for answer in whole:
        for at in rng.sample(range(len(answer)), 30):
            sent.append(answer[:at])
            with pytest.raises(InputError):
                source_of(server, 10).fetch()
        sent.append(answer)
        assert source_of(server, 10).fetch().data == b"a plan"


def test_random_servers_are_left_in_time_and_give_no_plan_but_a_whole_one():
    outcome = attack(20, 0, GRACE_S)
    assert not outcome.wrong, outcome.wrong[0]
    assert outcome.refused


def test_a_name_is_looked_up_once_for_each_connection(serving, monkeypatch):
    """A second look-up could lead elsewhere than the first one, which was asked what it is."""
    asked, look_up = [], socket.getaddrinfo

    def only_once(host, *arguments, **options):
        asked.append(host)
        return look_up("localhost" if asked.count(host) == 1 else "192.0.2.1", *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", only_once)
    server = serving(lambda _, connection: connection.sendall(HEAD + b"a plan"))
    assert source_of(server, 10).fetch().data == b"a plan"
    assert asked == ["localhost"]


def test_memory_stays_small_whatever_is_sent(serving):
    def huge(server, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        server.drip(connection, itertools.repeat(chunk), pause_s=0)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "is larger than 16 MiB" in refused_in_time(serving(huge), timeout_s=30)
    for script in (redirect_with_an_endless_body, error_with_an_endless_body):
        refused_in_time(serving(script), timeout_s=5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_MIB * 1024


@pytest.mark.parametrize("item", ["[],", '"a",', "1,", '{"a":1},'])
def test_an_envelope_of_millions_of_values_is_refused_before_they_are_built(item):
    from sliceplan.agent.trust.dsse import open_envelope

    data = ('{"payload": [' + item * ((MAX_BYTES - 100) // len(item)) + "1]}").encode()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="has more than 80 values"):
        open_envelope(data, "plan")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_MIB * 1024


def test_an_envelope_with_the_most_signatures_is_read():
    from sliceplan.agent.trust.dsse import MAX_SIGNATURES, PAYLOAD_TYPE, open_envelope

    signatures = [{"keyid": "a", "sig": "YQ=="}] * MAX_SIGNATURES
    data = json.dumps({"payloadType": PAYLOAD_TYPE, "payload": "YQ==", "signatures": signatures}).encode()
    assert open_envelope(data, "plan") == (b"a", [b"a"] * MAX_SIGNATURES)


def test_nothing_is_fetched_while_the_lock_of_the_node_is_held(tmp_path):
    """Another agent could not go back to the last plan while a server held this one."""
    from sliceplan.agent.devices.simulated.node import SimulatedNode
    from sliceplan.agent.model.node import GpuState

    state = {0: GpuState("H100-80GB-SXM", True)}
    folder = StateFolder(tmp_path)
    tried = []

    def fetch():
        with locked(folder):  # refused if somebody has it, this process too
            tried.append("fetched without the lock")
        return lambda _applied: Desired(state, PlanReference("plan.json", "0" * 64))

    session = Session(SimulatedNode.in_state(state), folder)
    look(session, fetch, list, Rules())
    assert tried == ["fetched without the lock"]
