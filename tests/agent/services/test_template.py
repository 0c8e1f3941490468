"""Which ports a template may give, and where it takes them from."""

import pytest
from pydantic import ValidationError

from sliceplan.agent.services.template import ServiceTemplate


def template(**fields):
    return ServiceTemplate.model_validate({"command": ["/bin/serve"], **fields})


@pytest.mark.parametrize("ports", [(1024, 65535), (8000, 8000), (65535, 65535), (1024, 1024)])
def test_ports_are_a_range_beyond_those_of_the_system(ports):
    assert template(ports=ports).ports == ports


@pytest.mark.parametrize("ports", [(1023, 8000), (8001, 8000), (8000, 65536), (0, 0)])
def test_other_ports_are_refused(ports):
    with pytest.raises(ValidationError, match="expected two numbers of 1024 to 65535, in order"):
        template(ports=ports)


@pytest.mark.parametrize(
    "fields",
    [
        {"command": ["/bin/serve", "--port={port}"]},
        {"env": {"PORT": "{port}"}},
        {"health": {"http": "http://127.0.0.1:{port}/"}},
        {"health": {"command": ["/bin/ask", "{port}"]}},
    ],
)
def test_who_uses_a_port_has_ports_to_take_it_from(fields):
    with pytest.raises(ValidationError, match="has no `ports` to take it from"):
        template(**fields)
    assert template(**fields, ports=(8000, 8009)).ports == (8000, 8009)
    assert template(health={"http": "http://127.0.0.1:9000/"}).ports is None


@pytest.mark.parametrize("health", [{}, {"http": "http://127.0.0.1/", "command": ["/bin/ask"]}])
def test_a_health_check_is_a_command_or_a_url(health):
    with pytest.raises(ValidationError, match="needs either command or http"):
        template(health=health)


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "ftp://localhost/", "http://example.org/", "127.0.0.1/"])
def test_a_health_check_asks_this_node_over_http(url):
    with pytest.raises(ValidationError, match="expected http:// and one of"):
        template(health={"http": url})


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--name={workload", "a brace itself is written twice"),
        ("--name=workload}", "a brace itself is written twice"),
        ("--name={who}", r"has the placeholder \{who\}; known: \{workload\}, "),
        ("--name={}", r"has the placeholder \{\}; known: "),
        ("--name={workload!r}", r"has the placeholder \{workload\}; known: "),
        ("--batch={batch:>8}", r"has the placeholder \{batch\}; known: "),
        ("--name=\0", "holds a NUL character"),
    ],
)
def test_a_word_has_known_placeholders_as_they_are_and_nothing_else_in_braces(word, said):
    for fields in (
        {"command": ["/bin/serve", word]},
        {"env": {"NAME": word}},
        {"health": {"command": ["/bin/ask", word]}},
    ):
        with pytest.raises(ValidationError, match=said):
            template(**fields)
    command = ["/bin/serve", "--name={workload}", "--json={{}}"]
    assert template(command=command).command == tuple(command)


@pytest.mark.parametrize("program", ["serve", "./serve", "/bin/{workload}", "{workload}"])
def test_a_program_is_an_absolute_path_that_no_plan_chooses(program):
    for fields in ({"command": [program]}, {"health": {"command": [program, "{workload}"]}}):
        with pytest.raises(ValidationError, match="expected the absolute path of a program, without placeholders"):
            template(**fields)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "expected the name of an environment variable"),
        ("1A", "expected the name of an environment variable"),
        ("A=B", "expected the name of an environment variable"),
        ("A-B", "expected the name of an environment variable"),
        ("CUDA_VISIBLE_DEVICES", "which the agent sets from the plan"),
        ("CUDA_MPS_PIPE_DIRECTORY", "which the agent sets from the plan"),
    ],
)
def test_a_variable_has_a_name_that_is_one_and_not_the_agents(name, said):
    with pytest.raises(ValidationError, match=said):
        template(env={name: "1"})
    assert template(env={"_Own_1": "1", "CUDA_MODULE_LOADING": "LAZY"}).env["_Own_1"] == "1"


@pytest.mark.parametrize(("seconds", "taken"), [(0, False), (0.5, True), (86_400, True), (86_401, False)])
def test_times_are_above_0_and_no_more_than_a_day(seconds, taken):
    times = ({"drain_s": seconds}, *({"health": {**HTTP, name: seconds}} for name in ("within_s", "timeout_s")))
    for fields in times:
        if taken:
            template(**fields)
        else:
            with pytest.raises(ValidationError, match=r"greater than 0|less than or equal to 86400"):
                template(**fields)


@pytest.mark.parametrize(("percent", "taken"), [(0, False), (0.5, True), (100, True), (100.5, False)])
def test_a_standby_process_may_have_some_more_and_no_more_than_a_gpu(percent, taken):
    if taken:
        assert template(standby={"extra_percent": percent}).standby.extra_percent == percent
        return
    with pytest.raises(ValidationError, match=r"greater than 0|less than or equal to 100"):
        template(standby={"extra_percent": percent})


def test_what_a_template_leaves_out_is_as_the_pages_say():
    plain, health = template(), template(health=HTTP).health
    assert (plain.drain_s, plain.runner, plain.copies, plain.user, plain.env) == (30.0, "systemd", "each", None, {})
    assert (health.within_s, health.interval_s, health.timeout_s) == (60.0, 1.0, 5.0)
    assert template(standby={}).standby.extra_percent == 10.0
    assert template(health={"command": ["/bin/ask"]}).ports is None


HTTP = {"http": "http://127.0.0.1/"}
