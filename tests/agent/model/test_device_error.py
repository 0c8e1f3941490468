"""Every error of the agent's devices has the number that NVML gives its name."""

import ast

import pynvml
from problems.instances import ROOT


def test_names_and_numbers_of_errors_are_those_of_nvml():
    stated = set()
    for path in sorted((ROOT / "agent").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "DeviceError":
                name, number = (getattr(one, "value", None) for one in node.args[:2])
                if isinstance(name, str) and isinstance(number, int):
                    stated.add((name, number))
    assert len(stated) >= 8
    assert stated == {(name, getattr(pynvml, f"NVML_ERROR_{name}")) for name, _ in stated}
