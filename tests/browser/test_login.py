"""The page behind a login, in a real browser: by a reverse proxy's header, and by an OpenID Connect provider."""

from contextlib import ExitStack

import pytest
import yaml
from playwright.sync_api import expect
from stand_ins.stub_provider import CLIENT, CLIENT_SECRET, running_provider
from stand_ins.stub_proxy import running_proxy
from support.browser_walk import go, look
from support.page_server import free_port, running_page

pytestmark = pytest.mark.browser

SECRET = "a secret that nobody guesses"
ROLES = {"version": 1, "editors": ["ops@example.org"], "viewers": ["*@example.org"]}


@pytest.fixture
def opened(browser):
    """Opens an address in a browser of its own."""
    with ExitStack() as stack:

        def open_address(address):
            context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
            stack.callback(context.close)
            page = context.new_page()
            page.goto(address)
            return page

        yield open_address


def in_sidebar(page, text):
    return expect(page.get_by_test_id("stSidebar").get_by_text(text))


def test_a_proxy_s_header_logs_in_and_nothing_else_does(opened, tmp_path):
    login = {"method": "header", "secret_header": "X-Proxy-Secret", "proxies": ["127.0.0.0/8", "::1"]}
    access = tmp_path / "access.yaml"
    access.write_text(yaml.safe_dump(ROLES | {"login": login}))
    port = free_port()
    arguments = ("--access", str(access))
    # Where a connection comes from is not what a header says.
    said = {"X-Forwarded-User": "ops@example.org", "X-Proxy-Secret": SECRET, "X-Forwarded-For": "203.0.113.9"}
    with (
        running_page(tmp_path, *arguments, port=port, environment={"SLICEPLAN_PROXY_SECRET": SECRET}) as direct,
        running_proxy(port, said) as address,
    ):
        page = opened(f"{address}/workloads")
        in_sidebar(page, "ops@example.org (editor)").to_be_visible()
        page.get_by_role("button", name="Save as…").click()
        page.get_by_label("Name", exact=True).fill("behind-proxy")
        page.get_by_role("button", name="Save under this name").click()
        expect(page.get_by_text("behind-proxy, version 1")).to_be_visible()

        # What somebody works on is in nobody else's reach, even if they have its address.
        said["X-Forwarded-User"] = "vera@example.org"
        page.goto(page.url)
        in_sidebar(page, "vera@example.org (viewer)").to_be_visible()
        expect(page.get_by_text("Not saved.")).to_be_visible()
        expect(page.get_by_role("button", name="Save as…")).to_be_disabled()
        go(page, "History")
        expect(page.get_by_role("button", name="Archive this problem")).to_be_disabled()
        look(page, "17-viewer")

        said["X-Forwarded-User"] = "mallory@elsewhere.org"
        page.goto(address)
        expect(page.get_by_text("mallory@elsewhere.org may not use this page")).to_be_visible()
        expect(page.get_by_role("button", name="Solve")).to_have_count(0)
        look(page, "18-refused")
        said |= {"X-Forwarded-User": "ops@example.org", "X-Proxy-Secret": "another secret that is wrong"}
        page.goto(address)
        expect(page.get_by_text("through its proxy only")).to_be_visible()
        around = opened(direct)
        expect(around.get_by_text("through its proxy only")).to_be_visible()


def test_a_provider_logs_in_and_out(opened, tmp_path):
    claims = {"email": "ops@example.org", "email_verified": True, "name": "Ops"}
    port = free_port()
    with running_provider(claims) as provider:
        auth = {
            "redirect_uri": f"http://localhost:{port}/oauth2callback",
            "cookie_secret": "signs the cookie of this test",
            "client_id": CLIENT,
            "client_secret": CLIENT_SECRET,
            "server_metadata_url": f"{provider}/.well-known/openid-configuration",
        }
        (tmp_path / "secrets.toml").write_text("[auth]\n" + "".join(f'{key} = "{auth[key]}"\n' for key in auth))
        access = tmp_path / "access.yaml"
        access.write_text(yaml.safe_dump(ROLES | {"login": {"method": "oidc", "secrets": "secrets.toml"}}))
        with running_page(tmp_path, "--access", str(access), port=port) as address:
            page = opened(address)
            expect(page.get_by_text("Log in to use the planner")).to_be_visible()
            expect(page.get_by_role("button", name="Log in")).to_be_visible()
            look(page, "19-log-in")
            page.get_by_role("button", name="Log in").click()
            # Three pages after one another: there, back, and the page anew.
            in_sidebar(page, "ops@example.org (editor)").to_be_visible(timeout=60_000)
            expect(page.get_by_role("button", name="Log out")).to_be_visible(timeout=60_000)
            page.get_by_role("button", name="Log out").click()
            expect(page.get_by_text("Log in to use the planner")).to_be_visible()

            claims["email_verified"] = False
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_text("has not verified your e-mail address")).to_be_visible()
