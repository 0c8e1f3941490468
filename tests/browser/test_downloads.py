"""Taking a plan away, in a real browser: its files, and the report opened as its reader would."""

import re
import zipfile

import pytest
from PIL import Image
from playwright.sync_api import expect
from support.browser_walk import choose, download, go, look, press, settle
from support.html_reading import read

pytestmark = pytest.mark.browser


def taken(page, name, folder):
    file = download(page, name)
    path = folder / file.suggested_filename
    file.save_as(path)
    return path


def test_the_report_opens_by_itself_without_a_request_or_an_error(page, browser, tmp_path):
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible()
    go(page, "Plan")
    expect(page.get_by_role("heading", name="Download and deploy")).to_be_visible(timeout=20_000)
    path = taken(page, "Report as HTML", tmp_path)
    assert re.fullmatch(r"demo-report-\d{4}-\d\d-\d\d\.html", path.name)
    read(path.read_text())
    for scheme in ("light", "dark"):
        opened = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
        said, asked = [], []
        opened.on("console", lambda message, said=said: said.append(message.text))
        opened.on("pageerror", lambda error, said=said: said.append(str(error)))
        opened.on("request", lambda request, asked=asked: asked.append(request.url))
        opened.goto(path.as_uri())
        expect(opened.get_by_role("heading", name="Capacity plan: demo")).to_be_visible()
        assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        look(opened, f"report-{scheme}")
        assert said == []
        assert asked == [path.as_uri()]
        opened.close()


def test_other_tools_get_their_files_or_a_reason(page, tmp_path):
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible()
    go(page, "Plan")
    page.get_by_text("Files for what you run").click()
    settle(page)
    choose(page, "What do you run?", "Triton Inference Server")
    expect(page.get_by_text("How to apply", exact=True)).to_be_visible()
    path = taken(page, re.compile(r"Download \d+ files"), tmp_path)
    assert all(name.endswith("config.pbtxt") for name in zipfile.ZipFile(path).namelist())
    look(page, "take-away")
    settle(page)
    choose(page, "What do you run?", "A single format")
    choose(page, "Format", "Kubernetes Deployments")
    expect(page.get_by_text("add your container images in Settings")).to_be_visible()
    page.get_by_role("textbox", name="Container images").fill("example/server:1")
    page.keyboard.press("Control+Enter")
    path = taken(page, re.compile(r"Download demo-deployments-\d{4}-\d\d-\d\d\.yaml"), tmp_path)
    assert "example/server:1" in path.read_text()
    plan = taken(page, "Plan as JSON", tmp_path)
    assert re.fullmatch(r"demo-plan-\d{4}-\d\d-\d\d\.json", plan.name)


def test_pictures_are_taken_as_svg_or_png_and_tables_as_csv(page, tmp_path):
    # With its own dialog for saving, Chromium has no download that a test could see.
    page.evaluate("window.showSaveFilePicker = undefined")
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible()
    go(page, "Plan")
    page.locator(".js-plotly-plot").hover()
    picture = taken(page, re.compile("Download plot"), tmp_path)
    assert re.fullmatch(r"demo-fleet-\d{4}-\d\d-\d\d\.svg", picture.name)
    assert "video-thumbs" in picture.read_text()
    page.get_by_role("radio", name="PNG").click()
    settle(page)
    picture = taken(page, re.compile("Download plot"), tmp_path)
    with Image.open(picture) as opened:
        assert (opened.format, opened.width > 1280) == ("PNG", True)
    page.get_by_role("radio", name="Services").click()
    page.get_by_test_id("stDataFrame").hover()
    table = taken(page, re.compile("Download as CSV"), tmp_path).read_text(encoding="utf-8-sig")
    assert table.startswith("service,model,runs on,")
    assert len(table.splitlines()) == 9
