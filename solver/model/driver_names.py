"""The names that the driver gives to GPUs (`nvidia-smi -L`), and which types of the catalogue they are."""

from .catalogue import load_catalogue

CATALOGUE_NAMES = {
    "A100-SXM4-40GB": "A100-40GB",
    "A100-PCIE-40GB": "A100-40GB",
    "A100-SXM4-80GB": "A100-80GB",
    "A100 80GB PCIe": "A100-80GB",
    "A10": "A10",
    "A10G": "A10G",
    "A2": "A2",
    "A30": "A30-24GB",
    "B200": "B200-180GB",
    "B300 SXM6 AC": "B300-270GB",
    "B300 SXM6 PC": "B300-270GB",
    "GB200": "GB200",
    "GB300": "GB300",
    "GH200 144G HBM3e": "GH200-144GB",
    "GH200 480GB": "GH200-96GB",  # 480 GB is the memory of its CPU
    "H100 80GB HBM3": "H100-80GB-SXM",
    "H100 NVL": "H100-94GB-NVL",
    "H100 PCIe": "H100-80GB-PCIE",
    "H20": "H20-96GB",
    "H200": "H200-141GB",
    "H200 NVL": "H200-141GB-NVL",
    "L4": "L4",
    "L40S": "L40S",
    "GeForce RTX 2060": "RTX-2060",
    "GeForce RTX 2080 Ti": "RTX-2080-Ti",
    "RTX PRO 5000 Blackwell": "RTX-PRO-5000-48GB",
    "RTX PRO 6000 Blackwell Max-Q Workstation Edition": "RTX-PRO-6000-96GB-MAXQ",
    "RTX PRO 6000 Blackwell Server Edition": "RTX-PRO-6000-96GB",
    "RTX PRO 6000 Blackwell Workstation Edition": "RTX-PRO-6000-96GB-WS",
    "T4": "T4",
    "V100-SXM2-16GB": "V100-SXM2-16GB",
    "V100-SXM2-32GB": "V100-SXM2-32GB",
}
"""The driver's name without its brand -> name in the catalogue."""


SAME_NAME = {"GB200": ("GB200", "GB200-189GB")}
"""The driver's name -> the types of the catalogue that it gives it to; their memory tells them apart."""


def catalogue_name(driver_name: str, memory_mib: float | None = None) -> str:
    """
    Returns a GPU's type in the catalogue; what the driver calls it if the catalogue has no such type.

    Parameters
    ----------
    memory_mib
        Memory that the driver reports, by which types of one name are told apart; None: the first of them.
    """
    driver_name = _without_brand(driver_name)
    types = SAME_NAME.get(driver_name)
    if types is None or memory_mib is None:
        return CATALOGUE_NAMES.get(driver_name, driver_name)
    known, own_mib = load_catalogue(), memory_mib
    return min(types, key=lambda name: abs(known[name].memory_mib - own_mib))


def catalogue_types(driver_name: str) -> tuple[str, ...]:
    """
    Returns the types of the catalogue that the driver gives a name to; none if the catalogue has no such type.

    Hyphens may stand for blanks, as in the node label nvidia.com/gpu.product.
    """
    wanted = _with_blanks(driver_name)
    if types := next((types for name, types in SAME_NAME.items() if _with_blanks(name) == wanted), None):
        return types
    return tuple(gpu for name, gpu in CATALOGUE_NAMES.items() if _with_blanks(name) == wanted)


def _with_blanks(name: str) -> str:
    return _without_brand(name.replace("-", " ").strip())


def _without_brand(name: str) -> str:
    return name.removeprefix("NVIDIA ").removeprefix("Tesla ")
