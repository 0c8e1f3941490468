"""Answers and addresses, one by one: what is refused before it is read, and which address is taken."""

import http.client
import socket
import time
from types import SimpleNamespace

import pytest

from sliceplan.agent.trust import https
from sliceplan.agent.trust.strict_json import MAX_BYTES
from sliceplan.solver.model.errors import InputError


def answer(*pieces, length=None, chunked=False):
    """Returns a response that gives these pieces; reading more of it fails."""
    left = [*pieces, b""]
    found = SimpleNamespace(length=length, chunked=chunked)

    def read1(_most):
        piece = left.pop(0)
        if found.length is not None:
            found.length -= len(piece)
        return piece

    found.read1 = read1
    return found


def test_a_body_is_all_of_its_pieces():
    assert https._body(answer(b"ab", b"c", length=3), "url") == b"abc"
    assert https._body(answer(b"ab", b"c", chunked=True), "url") == b"abc"


def test_a_body_that_says_that_it_is_too_large_is_refused_before_any_of_it_is_read():
    large = answer(length=MAX_BYTES + 1)
    large.read1 = lambda _most: pytest.fail("it is read")
    with pytest.raises(InputError, match="is larger than"):
        https._body(large, "url")


def test_a_body_that_turns_out_too_large_is_refused():
    with pytest.raises(InputError, match="is larger than"):
        https._body(answer(b"x" * (MAX_BYTES + 1), chunked=True), "url")


def test_a_part_of_a_body_is_none_and_one_without_an_end_neither():
    with pytest.raises(http.client.IncompleteRead):
        https._body(answer(b"ab", length=3), "url")
    with pytest.raises(InputError, match="does not say how long its answer is"):
        https._body(answer(b"ab"), "url")


def addresses(monkeypatch, *ports):
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(https, "_addresses", lambda *_: found)


def test_the_first_address_that_answers_is_taken(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as open_one, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        addresses(monkeypatch, closed.getsockname()[1], open_one.getsockname()[1])
        with https._reached("host", 443, time.monotonic() + 60) as reached:
            assert reached.getpeername() == open_one.getsockname()


def test_the_last_failure_is_why_no_address_answers_and_a_late_look_up_is_one(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        addresses(monkeypatch, closed.getsockname()[1])
        with pytest.raises(ConnectionRefusedError):
            https._reached("host", 443, time.monotonic() + 60)
        with pytest.raises(TimeoutError, match="the name host was not looked up in time"):
            https._reached("host", 443, time.monotonic() - 1)
