"""Files of layer times: a folder of the VELTAIR artifact, or a file of our own in YAML or JSON."""

from pathlib import Path

from ..model.layer_times import LayeredModel, LayerFile
from ..model.parsing import read_record
from .veltair import read_veltair


def read_layer_times(path: Path) -> list[LayeredModel]:
    """Returns the models of a folder or a file; raises InputError with all that is wrong."""
    return read_veltair(path) if path.is_dir() else list(read_record(LayerFile, path).models)
