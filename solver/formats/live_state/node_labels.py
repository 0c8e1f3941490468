"""What the labels of a Kubernetes node say of its GPUs: their type, how they are cut, whether that is done."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...model.catalogue import load_catalogue
from ...model.driver_names import catalogue_types
from ...model.errors import Finding, InputError
from ...model.hardware import Gpu
from ...model.parsing import closest
from .live_gpus import GpuTypes

PRODUCT = "nvidia.com/gpu.product"
MEMORY = "nvidia.com/gpu.memory"
CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"

_SUFFIX = re.compile(r"(?P<name>.*?)(-MIG-(?P<profile>[\w.+-]+?))?(-SHARED)?")


@dataclass(frozen=True)
class Product:
    """The label nvidia.com/gpu.product, taken apart: `NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED`."""

    name: str
    """The driver's name, with hyphens for blanks; empty: the node has no such label."""
    profile: str | None
    """Under strategy single: the MIG profile of all devices, with `.` for `+`; INVALID: they differ."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the catalogue that it can be."""
        return catalogue_types(self.name) if self.name else ()


def product_of(labels: Mapping[str, Any]) -> Product:
    """Returns the product that a node names."""
    text = labels.get(PRODUCT)
    match = _SUFFIX.fullmatch(text if isinstance(text, str) else "")
    return Product(match["name"], match["profile"]) if match else Product("", None)


def types_of_node(product: Product, offered: Iterable[str], memory_mib: Any, types: GpuTypes, source: str) -> GpuTypes:
    """
    Returns the type of each GPU: what the options say, else what the product is.

    Parameters
    ----------
    offered, memory_mib
        Names of the MIG profiles on the node, and the label of a GPU's memory: they tell types of one name apart.

    Raises
    ------
    InputError
        If the options say another type than the product's, or neither tells the type.
    """
    if types:
        given = set(types.values())
        if len(given) == 1 and product.types and not given & set(product.types):
            message = f"is not what the node says: {PRODUCT} is {product.name} ({' or '.join(product.types)})"
            raise InputError([Finding("--gpu", next(iter(given)), message)])
        return types
    catalogue = load_catalogue()
    wanted = {name.replace("+", ".") for name in offered}
    fitting = [name for name in product.types if wanted <= _resources(catalogue[name])]
    if len(fitting) > 1 and isinstance(memory_mib, str) and memory_mib.isascii() and memory_mib.isdigit():
        fitting = [min(fitting, key=lambda name: abs(catalogue[name].memory_mib - float(memory_mib[:9])))]
    if len(fitting) == 1:
        return {None: fitting[0]}
    if not product.name:
        message = f"is missing: {source} has no label {PRODUCT}; give TYPE or INDEX=TYPE"
    elif not product.types:
        hint = closest(product.name.removeprefix("NVIDIA-"), catalogue)
        message = f"is missing: {PRODUCT} is {product.name}, which the catalogue does not have. {hint}"
    elif fitting:
        message = f"is missing: {product.name} can be {' or '.join(fitting)}; give one of them"
    else:
        shown = ", ".join(sorted(wanted))
        message = f"is missing: {product.name} is {' or '.join(product.types)}, which has not all of {shown}"
    raise InputError([Finding("--gpu", "", message)])


def _resources(gpu: Gpu) -> set[str]:
    """Returns the profiles of a type as resources spell them, with `.` for `+`."""
    return {profile.name.replace("+", ".") for profile in (gpu.mig.profiles if gpu.mig else ())}
