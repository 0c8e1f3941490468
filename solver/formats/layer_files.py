"""Files of layer times: a folder of the VELTAIR artifact, or a file of our own in YAML or JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from ..model.layer_times import LayeredModel, LayerFile
from ..model.parsing import read_record
from .veltair import read_veltair


def read_layer_times(path: Path) -> list[LayeredModel]:
    """Returns the models of a folder or a file; raises InputError with all that is wrong."""
    return read_veltair(path) if path.is_dir() else list(read_record(LayerFile, path).models)


def layer_times_text(models: Sequence[LayeredModel], *, is_json: bool) -> str:
    """Returns a file of layer times; the same models give the same text."""
    data = LayerFile(models=tuple(models)).model_dump(mode="json", exclude_none=True)
    if is_json:
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return text
