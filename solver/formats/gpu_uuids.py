"""
UUIDs of a node's GPUs: from `nvidia-smi -L`, or from JSON that maps indices to UUIDs.

    GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1e44b340-5807-0dbe-62e6-343a6b8b8bcd)
      MIG 1g.10gb     Device  0: (UUID: MIG-41b9eab5-8d48-5c52-9f07-82bc59af3901)
"""

import re
from pathlib import Path

from ..model.errors import Finding, InputError
from ..model.parsing import parse_text, read_text

_LINE = re.compile(r"GPU\s+(\d{1,3}): (.*?)\s*\(UUID: (\S+?)\)\s*")
_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def read_uuids(path: Path) -> dict[int, str]:
    """
    Returns the UUID of each GPU by index.

    Raises
    ------
    InputError
        If the file is neither form, or has a UUID or an index twice.
    """
    return parse_uuids(read_text(path), str(path))


def read_driver_names(path: Path) -> dict[int, str]:
    """Returns what the driver calls each GPU, as far as the file tells; raises InputError if it cannot be read."""
    return parse_driver_names(read_text(path))


def parse_driver_names(text: str) -> dict[int, str]:
    """Returns what `read_driver_names` does, of a text from somewhere else."""
    lines = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {int(match[1]): match[2] for match in lines if match}


def parse_uuids(text: str, source: str) -> dict[int, str]:
    """Returns what `read_uuids` does, of a text from somewhere else; `source` names it in findings."""
    if text.lstrip().startswith("{"):
        pairs = _from_json(text, source)
    else:
        found = [match for line in text.splitlines() if (match := _LINE.fullmatch(line.strip()))]
        pairs = [(match[1], match[3]) for match in found]
    if not pairs:
        message = 'lists no GPU; expected the output of `nvidia-smi -L`, or JSON as {"0": "GPU-..."}'
        raise InputError([Finding(source, "", message)])
    findings = [
        Finding(source, f"GPU {index}", f"has the UUID {uuid!r}; expected GPU- and 32 hexadecimal digits")
        for index, uuid in pairs
        if not _UUID.fullmatch(uuid)
    ]
    for what, values in (("index", [index for index, _ in pairs]), ("UUID", [uuid for _, uuid in pairs])):
        twice = sorted({value for value in values if values.count(value) > 1})
        findings += [Finding(source, "", f"has the {what} {value} twice") for value in twice]
    if findings:
        raise InputError(findings)
    return {int(index): uuid for index, uuid in pairs}


def _from_json(text: str, source: str) -> list[tuple[str, str]]:
    data = parse_text(text, source, is_json=True)
    if not all(key.isascii() and key.isdigit() and len(key) < 4 and isinstance(data[key], str) for key in data):
        raise InputError([Finding(source, "", 'is JSON, but not of GPU indices and UUIDs, as {"0": "GPU-..."}')])
    return [(str(int(key)), uuid) for key, uuid in data.items()]
