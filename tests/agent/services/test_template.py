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
