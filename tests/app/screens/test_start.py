"""The first screen: what it says of the answer, and what the way to one's own services asks for."""

from support.app_screens import screen, session_with, texts


def asked(cells):
    page = screen("start", session_with("demo"))
    page.session_state["own_cells"] = cells
    return page.button(key="door_own").click().run()


def test_a_table_without_a_column_that_services_need_says_which():
    page = asked("name\tnetwork\tqps\na\tvgg16\t50")
    assert not page.exception
    assert "no column is called SLO (ms)" in texts(page.error)
    assert not any(button.key == "own_plan" for button in page.button)


def test_usual_names_of_columns_make_services():
    page = asked("service;model;req/s;p99 latency\nfront page;resnet50;1.250,5;180")
    assert not page.exception
    assert not page.error
    assert "'front page' is called front-page" in texts(page.caption)
    assert page.button(key="own_plan").label == "Plan this service"
