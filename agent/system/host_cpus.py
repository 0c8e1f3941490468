"""The cores of this node, as `lscpu -p` has them: the same text, and the same reader, as for the exports."""

from ...solver.model.host_cores import COMMAND, HostCores, parse_host_cores, sockets_of
from .processes import run_tool

READ_S = 30.0


def read_sockets() -> tuple[HostCores, ...]:
    """
    Returns the cores of each CPU of this node, online ones only, in the order in which a plan counts them.

    Raises
    ------
    DeviceError
        If there is no `lscpu`, or it fails.
    InputError
        If it prints something else.
    """
    # Its own words are translated by the locale; what it lists is not.
    text = run_tool(COMMAND.split(), READ_S, {"LC_ALL": "C"})
    return sockets_of(parse_host_cores(text, f"`{COMMAND}`"))
