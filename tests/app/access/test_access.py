"""Who may use the page: the access file, the proxy's header, and what the page refuses to start with."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from streamlit import config
from streamlit.runtime.context import StreamlitHeaders
from streamlit.testing.v1 import AppTest

from sliceplan.app.access.current import _account
from sliceplan.app.access.header_login import header_user
from sliceplan.app.access.identity import LoginError, Role, editor
from sliceplan.app.access.policy import Access, HeaderLogin, read_access
from sliceplan.app.access.starting import checked_access, is_local, streamlit_options
from sliceplan.app.session.uploaded import MOST_MIB
from sliceplan.solver.model.errors import InputError, MissingExtraError

SECRET = "a secret that nobody guesses"
HEADER = {"method": "header", "proxies": ["10.1.0.0/16", "::1"], "secret_header": "X-Proxy-Secret"}
ACCESS = {"version": 1, "login": HEADER, "editors": ["ops@*", "Ana"], "viewers": ["*@example.org"]}
AUTH = {
    "redirect_uri": "http://localhost/oauth2callback",
    "cookie_secret": "c",
    "client_id": "i",
    "client_secret": "s",
    "server_metadata_url": "http://localhost/.well-known/openid-configuration",
}


@pytest.fixture
def written(tmp_path):
    """Writes an access file."""

    def write(**changes):
        file = tmp_path / "access.yaml"
        file.write_text(yaml.safe_dump(ACCESS | changes))
        return file

    read_access.cache_clear()
    return write


def headers(**values):
    """All values of a header, by its name in any case."""
    folded = {name.replace("_", "-").casefold(): value for name, value in values.items()}
    return lambda name: folded.get(name.casefold(), [])


def proxied(user=("ana",), secret=(SECRET,), peer="10.1.2.3", expected=SECRET, **login):
    stated = HeaderLogin.model_validate(HEADER | login)
    return header_user(stated, headers(X_Forwarded_User=user, X_Proxy_Secret=secret), peer, expected)


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "127.0.0.2", "::1"])
def test_addresses_of_this_machine_need_no_login(address):
    assert is_local(address)
    assert checked_access(address, None, {}) is None


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.4", "planner.example.org", ""])
def test_all_others_do(address):
    with pytest.raises(InputError, match="nobody would have to log in; name a file"):
        checked_access(address, None, {})


def test_the_command_refuses_to_start_beyond_this_machine_without_a_login():
    command = [sys.executable, "-m", "sliceplan.solver.cli", "ui", "--no-browser", "--address", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "0.0.0.0 is reached from other machines" in done.stderr
    assert "--access FILE" in done.stderr
    assert "Traceback" not in done.stderr


def test_roles_go_by_patterns_of_names_and_all_others_are_refused():
    access = Access.model_validate(ACCESS)
    assert access.identity("OPS@somewhere").role is Role.EDITOR
    assert access.identity("ana").role is Role.EDITOR
    assert access.identity("ben@example.org").role is Role.VIEWER
    for name in ("anabel", "ben@example.org.evil", "xops@somewhere", "ben"):
        with pytest.raises(LoginError, match="may not use this page"):
            access.identity(name)
    for name in ("", " ana", "a\nna", "a" * 101):
        with pytest.raises(LoginError, match="no usable name"):
            access.identity(name)
    everybody = Access.model_validate(ACCESS | {"viewers": ["*"]})
    assert everybody.identity("anabel").role is Role.VIEWER
    assert editor(access.identity("ana")) == "ana"


def test_a_header_is_believed_from_the_proxy_with_its_secret_only():
    assert proxied() == "ana"
    assert proxied(peer="::ffff:10.1.2.3") == "ana"
    assert proxied(peer="::1") == "ana"
    for wrong in (
        {"peer": "10.2.0.1"},
        {"peer": "not an address"},
        {"secret": ()},
        {"secret": ("",)},
        {"secret": (SECRET + "x",)},
        {"secret": (SECRET, SECRET)},
        {"secret": ("Geheimnis ü",)},
        {"expected": None},
        {"expected": "", "secret": ("",)},
    ):
        with pytest.raises(LoginError, match="through its proxy only") as refused:
            proxied(**wrong)
        assert SECRET not in str(refused.value)


def test_a_proxy_that_names_nobody_or_two_is_not_believed():
    with pytest.raises(LoginError, match="names no user"):
        proxied(user=())
    with pytest.raises(LoginError, match="names no user"):
        proxied(user=(" ",))
    with pytest.raises(LoginError, match="is there 2 times"):
        proxied(user=("root", "ana"))


def test_a_comma_in_a_name_does_not_split_it():
    login = HeaderLogin.model_validate(HEADER)
    sent = StreamlitHeaders([("x-forwarded-user", "Roe, Ana"), ("x-proxy-secret", SECRET)])
    assert header_user(login, sent.get_all, "10.1.2.3", SECRET) == "Roe, Ana"
    access = Access.model_validate(ACCESS | {"editors": ["Roe, Ana"], "viewers": ["Ana"]})
    assert access.identity("Roe, Ana").role is Role.EDITOR
    for part in ("Roe", " Ana"):
        with pytest.raises(LoginError):
            access.identity(part)


def test_a_header_that_anybody_may_send_is_no_login(written):
    file = written(login={"method": "header"})
    with pytest.raises(InputError, match="believes a header from anybody"):
        checked_access("0.0.0.0", file, {})


@pytest.mark.parametrize("secret", [None, "", "short"])
def test_the_secret_must_be_there_and_long(written, secret):
    environment = {} if secret is None else {"SLICEPLAN_PROXY_SECRET": secret}
    with pytest.raises(InputError, match=r"SLICEPLAN_PROXY_SECRET (is not set|has 5 characters); expected at least 16"):
        checked_access("0.0.0.0", written(), environment)
    assert checked_access("0.0.0.0", written(), {"SLICEPLAN_PROXY_SECRET": SECRET}) is not None


def test_what_is_wrong_in_the_access_file_is_named(written, tmp_path):
    wrong = {**HEADER, "proxies": ["10.1.0.0/16", "proxy"], "secret_header": "X Secret"}
    with pytest.raises(InputError) as refused:
        checked_access("localhost", written(login=wrong, editor=["ana"]), {})
    text = str(refused.value)
    assert "login.header.proxies[1]" in text
    assert "expected letters, digits and '-'" in text
    assert "editor is not a field here. Did you mean 'editors'?" in text
    with pytest.raises(InputError, match=r"missing\.yaml: cannot be read"):
        checked_access("localhost", tmp_path / "missing.yaml", {})


def test_the_provider_s_secrets_are_checked_and_never_shown(written, tmp_path):
    file = written(login={"method": "oidc", "secrets": "secrets.toml"})
    secrets = tmp_path / "secrets.toml"
    with pytest.raises(InputError, match=r"secrets\.toml: cannot be read"):
        checked_access("0.0.0.0", file, {})
    secrets.write_text("[auth]\nclient_secret = hidden\n")
    with pytest.raises(InputError, match="is not valid TOML") as refused:
        checked_access("0.0.0.0", file, {})
    assert "hidden" not in str(refused.value)
    secrets.write_text("[other]\n")
    with pytest.raises(InputError, match="auth is missing; expected a section with redirect_uri"):
        checked_access("0.0.0.0", file, {})
    secrets.write_text(
        "[auth]\n" + "".join(f'{key} = "{value}"\n' for key, value in AUTH.items() if key != "client_id")
    )
    with pytest.raises(InputError, match=r"auth\.client_id is missing or empty"):
        checked_access("0.0.0.0", file, {})
    secrets.write_text("[auth]\n" + "".join(f'{key} = "{value}"\n' for key, value in AUTH.items()))
    assert checked_access("0.0.0.0", file, {}).login.claim == "email"


def test_a_login_by_a_provider_names_the_extra_that_it_takes(written, monkeypatch):
    file = written(login={"method": "oidc", "secrets": "secrets.toml"})
    monkeypatch.setattr("sliceplan.app.access.starting.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"sliceplan\[login\]"):
        checked_access("0.0.0.0", file, {})


def test_streamlit_s_own_guards_stay_on(written):
    options = streamlit_options("localhost", 8501, open_browser=False, access=None)
    for option in (
        "enableCORS=true",
        "enableXsrfProtection=true",
        f"maxUploadSize={MOST_MIB}",
        "allowedHosts=localhost",
    ):
        assert f"--server.{option}" in options
    assert "--runner.postScriptGC=false" in options
    # Solve right after Undo solved what Undo took back: two runs changed one session at once.
    assert "--runner.fastReruns=false" in options
    behind = streamlit_options("0.0.0.0", 8501, open_browser=False, access=written(hosts=["planner.example.org"]))
    assert "--server.allowedHosts=planner.example.org" in behind
    assert "--server.allowedHosts=localhost" not in behind
    assert "--client.showErrorDetails=none" in behind


def test_the_secret_is_in_no_argument_and_no_file_of_ours(written):
    options = streamlit_options("0.0.0.0", 8501, open_browser=False, access=written())
    assert SECRET not in " ".join(options) + Path(written()).read_text()


def _page():
    import streamlit as st

    from sliceplan.app.widgets.login import admitted

    identity = admitted()
    st.write(f"user {identity.user}, {identity.role}" if identity else "nobody")


def test_on_this_machine_one_is_an_editor_under_the_account_s_name(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ana")
    _account.cache_clear()
    page = AppTest.from_function(_page).run()
    _account.cache_clear()
    assert [one.value for one in page.markdown] == ["user ana, editor"]


def test_the_page_itself_refuses_when_it_was_started_around_the_command():
    config.set_option("server.address", "0.0.0.0")
    try:
        page = AppTest.from_function(_page).run()
    finally:
        config.set_option("server.address", "localhost")
    assert [one.value for one in page.markdown] == ["nobody"]
    assert "reached from other machines, and has no login" in page.warning[0].value


def test_an_access_file_that_went_bad_lets_nobody_in(written, monkeypatch):
    monkeypatch.setenv("SLICEPLAN_ACCESS", str(written(editors="ana")))
    page = AppTest.from_function(_page).run()
    assert [one.value for one in page.markdown] == ["nobody"]
    assert "The access file can no longer be used" in page.error[0].value


def test_a_browser_that_does_not_come_by_the_proxy_is_told_so(written, monkeypatch):
    monkeypatch.setenv("SLICEPLAN_ACCESS", str(written()))
    monkeypatch.setenv("SLICEPLAN_PROXY_SECRET", SECRET)
    page = AppTest.from_function(_page).run()
    assert [one.value for one in page.markdown] == ["nobody"]
    assert "through its proxy only" in page.warning[0].value
