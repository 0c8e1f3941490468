"""YAML as people write it by hand: keys in the order given, short lists and mappings on one line, a comment on top."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Safe YAML that keeps texts of several lines as they are and repeats nothing by aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def yaml_text(documents: Iterable[Mapping[str, Any]], comments: Iterable[str] = ()) -> str:
    """Returns one or more YAML documents, below lines of comment."""
    dumped = (
        yaml.dump(document, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
        for document in documents
    )
    return "".join(f"# {line}\n" for line in comments) + "---\n".join(dumped)
