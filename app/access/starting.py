"""
Starts the page: `python -m sliceplan.app.access.starting`, which `sliceplan ui` runs.

On an address of this machine only, nobody needs to log in. On any other it starts only with an access file (policy.py),
whose login is checked first. Streamlit then takes the place of this process; it finds the access file by the
environment variable SLICEPLAN_ACCESS, and no one else sets a role.
"""

import argparse
import os
import sys
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

from ...solver.model.errors import Finding, InputError, MissingExtraError, SliceplanError
from ..profiles.known import PROFILES, as_variable, profiles_at
from .header_login import SECRET, SHORTEST_SECRET
from .policy import Access, HeaderLogin, OidcLogin, read_access

ACCESS = "SLICEPLAN_ACCESS"
"""Environment variable with the path of the access file; unset: nobody logs in, on this machine only."""

UPLOAD_MIB = 5
"""Largest file that the server takes from a browser; session/uploaded.py reads as much."""

PAGE = Path(__file__).parents[1] / "main.py"

THEME = {
    "theme.light.primaryColor": "#00588C",
    "theme.dark.primaryColor": "#6CBDEB",
    "theme.headingFontSizes": "2rem,1.4rem,1.15rem",
}
"""Colours that are read on their tints in both themes: 4.5 to 1 at least, as WCAG 2.2 asks (1.4.3)."""

AUTH_KEYS = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")


def is_local(address: str) -> bool:
    """Tells whether only this machine reaches an address."""
    if address == "localhost":
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def checked_access(address: str, access: Path | None, environment: Mapping[str, str]) -> Access | None:
    """
    Returns the access file's content; None: nobody needs to log in.

    Raises
    ------
    InputError
        If the address is reached from other machines and there is no login, or the login cannot work.
    MissingExtraError
        If the login needs a package that is not installed.
    """
    if access is None:
        if not is_local(address):
            message = (
                f"{address} is reached from other machines, and nobody would have to log in; name a file that says how "
                "they do (--access FILE), or leave the address at localhost"
            )
            raise InputError([Finding("--address", "", message)])
        return None
    stated = read_access(access)
    findings = _findings(stated, access, environment)
    if findings:
        raise InputError(findings)
    return stated


def _findings(stated: Access, access: Path, environment: Mapping[str, str]) -> list[Finding]:
    if isinstance(stated.login, HeaderLogin):
        return _header_findings(stated.login, str(access), environment.get(SECRET))
    return _oidc_findings(secrets_file(stated.login, access))


def _header_findings(login: HeaderLogin, source: str, secret: str | None) -> list[Finding]:
    if not login.proxies and login.secret_header is None:
        message = "believes a header from anybody; name the proxies' addresses, or a secret_header, or both"
        return [Finding(source, "login", message)]
    if login.secret_header is not None and len(secret or "") < SHORTEST_SECRET:
        found = "is not set" if not secret else f"has {len(secret)} characters"
        message = (
            f"the environment variable {SECRET} {found}; expected at least {SHORTEST_SECRET} characters that nobody "
            f"guesses, which the proxy sends as {login.secret_header}"
        )
        return [Finding(source, "login.secret_header", message)]
    return []


def _oidc_findings(secrets: Path) -> list[Finding]:
    for package in ("authlib", "httpx2"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "login")
    try:
        auth = tomllib.loads(secrets.read_text()).get("auth")
    except OSError as error:
        return [Finding(str(secrets), "", f"cannot be read: {error.strerror}")]
    except ValueError:
        # The cause is left out: it may quote a secret.
        return [Finding(str(secrets), "", "is not valid TOML")]
    if not isinstance(auth, dict):
        return [Finding(str(secrets), "auth", f"is missing; expected a section with {', '.join(AUTH_KEYS)}")]
    return [
        Finding(str(secrets), f"auth.{key}", "is missing or empty; expected a text")
        for key in AUTH_KEYS
        if not (isinstance(auth.get(key), str) and auth[key])
    ]


def secrets_file(login: OidcLogin, access: Path) -> Path:
    """Returns the path of Streamlit's secrets."""
    return access.absolute().parent / login.secrets


def streamlit_options(address: str, port: int, *, open_browser: bool, access: Path | None) -> list[str]:
    """Returns what Streamlit is started with; cross-origin checks and request-forgery protection stay on."""
    stated = None if access is None else read_access(access)
    options: dict[str, object] = {
        "server.address": address,
        "server.port": port,
        "server.headless": not open_browser,
        # Else Streamlit's first start asks for an e-mail address, and serves no page before it has an answer.
        "server.showEmailPrompt": False,
        # Its welcome names its own tools; `main` says where the page is.
        "logger.hideWelcomeMessage": True,
        "server.maxUploadSize": UPLOAD_MIB,
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.fileWatcherType": "none",
        # Else every drawn page is followed by a whole collection, which all other users wait for.
        "runner.postScriptGC": False,
        # Else a press starts a run beside the one that still works on the press before, and finds what that has not yet
        # put into the session; a press that was not begun is dropped. So the first ends, at its next element.
        "runner.fastReruns": False,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "viewer",
    }
    arguments = [f"--{name}={str(value).lower()}" for name, value in options.items()]
    arguments += [f"--{name}={value}" for name, value in THEME.items()]
    if stated is None or access is None:
        # Otherwise a site elsewhere, whose name is made to point here for a moment, would pass for this one.
        return arguments + [f"--server.allowedHosts={host}" for host in ("localhost", "127.0.0.1", "::1", address)]
    arguments += [f"--server.allowedHosts={host}" for host in stated.hosts]
    arguments += [f"--browser.serverAddress={host}" for host in stated.hosts[:1]]
    if isinstance(stated.login, OidcLogin):
        arguments.append(f"--secrets.files={secrets_file(stated.login, access)}")
    # Nobody but who runs the page learns its paths from an error.
    return [*arguments, "--client.showErrorDetails=none"]


def main() -> None:
    """Checks who may reach the page, then becomes Streamlit's server; exit code 2 if it may not start."""
    parser = argparse.ArgumentParser(prog="sliceplan ui")
    parser.add_argument("--address", default="localhost")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--access", type=Path)
    parser.add_argument("--open-browser", action="store_true")
    parser.add_argument("--profiles", type=Path, action="append", default=[])
    given = parser.parse_args()
    try:
        checked_access(given.address, given.access, os.environ)
        profiles_at(given.profiles)
        options = streamlit_options(given.address, given.port, open_browser=given.open_browser, access=given.access)
    except SliceplanError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    environment = {name: value for name, value in os.environ.items() if name != ACCESS}
    if given.access is not None:
        environment[ACCESS] = str(given.access.absolute())
    environment[PROFILES] = as_variable(given.profiles)
    # The server would otherwise take a header's word for the address that a connection comes from.
    environment["FORWARDED_ALLOW_IPS"] = ""
    host = f"[{given.address}]" if ":" in given.address else given.address
    print(f"Starting the page at http://{host}:{given.port} (Ctrl-C ends it).", flush=True)
    os.execve(sys.executable, [sys.executable, "-m", "sliceplan.app.server", "run", str(PAGE), *options], environment)


if __name__ == "__main__":
    main()
