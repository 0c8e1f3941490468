"""Reading and writing the agent's records as JSON; what another version or a hand has written is refused in words."""

from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from ...solver.model.errors import Finding, InputError

RecordT = TypeVar("RecordT")


def record_from(kind: type[RecordT], content: bytes | str, source: str) -> RecordT:
    """Returns a dataclass from its JSON; raises InputError with every finding."""
    try:
        return cast(RecordT, adapter(kind).validate_json(content))
    except ValidationError as error:
        findings = [
            Finding(source, ".".join(map(str, item["loc"])), f"is not what this agent writes: {item['msg']}")
            for item in error.errors(include_url=False)[:10]
        ]
        raise InputError(findings) from error


def record_json(record: object, indent: int | None = 1) -> bytes:
    """Returns a dataclass as JSON, with a line end."""
    return adapter(type(record)).dump_json(record, indent=indent) + b"\n"


def adapter(kind: Any) -> TypeAdapter[Any]:
    """Returns what turns such a record into JSON and back."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
"""Record type -> its adapter, which takes milliseconds to build."""
