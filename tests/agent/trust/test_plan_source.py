"""Where plans come from: files, and an HTTPS server on this machine with a certificate made here."""

import contextlib
import os
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from stand_ins.tls_certificate import self_signed

from sliceplan.agent.trust.plan_source import PlanSource
from sliceplan.solver.model.errors import InputError


class Handler(BaseHTTPRequestHandler):
    """Answers as its path says."""

    def do_GET(self):
        port = self.server.server_port
        headers = {}
        status, body = 200, b"a plan"
        if self.path == "/plan":
            headers["ETag"] = '"v1"'
            if self.headers["If-None-Match"] == '"v1"':
                status, body = 304, b""
        elif self.path == "/large":
            body = b" " * (16 * 2**20 + 1)
        elif self.path == "/moved":
            status, headers["Location"] = 302, f"https://localhost:{port}/plan"
        elif self.path == "/elsewhere":
            headers["Location"] = f"https://localhost:{port}/large"
        elif self.path == "/loop":
            status, headers["Location"] = 302, f"https://localhost:{port}/loop"
        elif self.path == "/to-http":
            status, headers["Location"] = 302, f"http://localhost:{port}/plan"
        elif self.path == "/to-file":
            status, headers["Location"] = 302, "file:///etc/passwd"
        elif self.path == "/slow":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(100):
                    self.wfile.write(b" ")
                    time.sleep(0.05)
            return
        elif self.path == "/no-http":
            self.wfile.write(b"\x00\x01\x02\r\n\r\n")
            return
        elif self.path != "/plain":
            status = 404
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # who asks may have enough
            self.wfile.write(body)

    def log_message(self, *_):
        """Stay quiet."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    certificate = self_signed(folder)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, folder / "key.pem")
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield SimpleNamespace(url=f"https://localhost:{httpd.server_port}", certificate=certificate)
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def fetch(server, path, etag=None):
    return PlanSource(server.url + path, timeout_s=5, ca_file=server.certificate).fetch(etag)


def refused(location, **options):
    with pytest.raises(InputError) as caught:
        PlanSource(str(location), **options).fetch()
    return str(caught.value)


def test_a_file_is_read(tmp_path):
    (tmp_path / "plan.json").write_bytes(b"a plan")
    assert PlanSource(str(tmp_path / "plan.json")).fetch().data == b"a plan"


def test_a_missing_file_a_folder_and_a_large_file_are_refused(tmp_path):
    assert "is missing" in refused(tmp_path / "plan.json")
    assert "is no file" in refused(tmp_path)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    assert "is larger than 16 MiB" in refused(tmp_path / "large")


def test_a_url_is_fetched_once_a_version(server):
    fetched = fetch(server, "/plan")
    assert (fetched.data, fetched.etag) == (b"a plan", '"v1"')
    assert fetch(server, "/plan", '"v1"') is None
    assert fetch(server, "/plan", '"v0"') == fetched
    assert fetch(server, "/plain").etag is None
    assert fetch(server, "/moved").data == b"a plan"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nothing", "answers 404"),
        ("/large", "is larger than 16 MiB"),
        ("/loop", "redirects more than 3 times"),
        ("/to-http", "neither a path nor an HTTPS URL"),
        ("/to-file", "neither a path nor an HTTPS URL"),
        ("/no-http", "cannot be fetched"),
    ],
)
def test_answers_that_are_no_plan_are_refused(server, path, message):
    with pytest.raises(InputError, match=message):
        fetch(server, path)


def test_a_server_that_never_ends_is_left(server):
    message = refused(f"{server.url}/slow", timeout_s=0.3, ca_file=server.certificate)
    assert "not complete after 0.3 s" in message


def test_a_certificate_that_nobody_vouches_for_is_refused(server):
    assert "certificate verify failed" in refused(f"{server.url}/plan", timeout_s=5)


def test_a_server_that_is_away_is_an_error_and_no_traceback(server):
    assert "cannot be fetched" in refused("https://localhost:1/plan", ca_file=server.certificate)


@pytest.mark.parametrize(
    "url", ["http://localhost/plan", "ftp://localhost/plan", "file:///etc/passwd", "https://", "https://[::1/plan"]
)
def test_other_schemes_are_refused(url):
    assert "expected one of them" in refused(url) or "is no URL" in refused(url)


def test_a_password_in_a_url_is_refused_without_being_shown_again():
    message = refused("https://user:secret@localhost/plan")
    assert "holds a password" in message
    assert "secret" not in message


def test_proxies_of_the_environment_are_not_asked(server, monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    assert fetch(server, "/plain").data == b"a plan"


def test_a_certificate_file_that_is_none_is_named(server, tmp_path):
    (tmp_path / "ca.pem").write_text("none")
    assert "ca.pem: cannot be read as certificates" in refused(f"{server.url}/plan", ca_file=tmp_path / "ca.pem")


@pytest.mark.parametrize(
    ("folder", "file", "words"),
    [
        (0o755, 0o644, []),
        (0o777, 0o644, ["lies in a folder that everybody may write to"]),
        (0o1777, 0o644, []),
        (0o755, 0o666, ["may be changed by everybody; run: chmod o-w"]),
    ],
)
def test_who_could_withhold_a_plan_is_said(tmp_path, folder, file, words):
    path = tmp_path / "plans" / "plan.json"
    path.parent.mkdir()
    path.write_bytes(b"a plan")
    path.chmod(file)
    path.parent.chmod(folder)
    cautions = list(PlanSource(str(path)).cautions())
    assert len(cautions) == len(words)
    for said, expected in zip(cautions, words, strict=True):
        assert said.startswith(f"{path} {expected}")
        assert said.endswith("(nobody can forge a plan so, but withhold one)")


def test_of_what_is_missing_or_on_a_server_no_caution_is_said(tmp_path):
    assert list(PlanSource(str(tmp_path / "nowhere" / "plan.json")).cautions()) == []
    assert list(PlanSource("https://localhost/plan").cautions()) == []


def test_a_pipe_in_place_of_a_plan_and_one_that_cannot_be_read_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in refused(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    assert "cannot be read: Not a directory" in refused(tmp_path / "file" / "plan.json")


def test_an_answer_that_names_another_place_is_no_redirect(server):
    assert fetch(server, "/elsewhere").data == b"a plan"


def test_a_url_without_a_path_asks_for_the_root(server):
    with pytest.raises(InputError, match="answers 404"):
        fetch(server, "")


def test_a_name_that_cannot_be_looked_up_is_an_error_with_the_reason(monkeypatch):
    def unknown(*_, **_options):
        raise OSError("no such name")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    assert "cannot be fetched: no such name" in refused("https://nowhere.invalid/plan", timeout_s=5)
