"""The names that the driver gives to GPUs (`nvidia-smi -L`), and which types of the catalogue they are."""

CATALOGUE_NAMES = {
    "A100-SXM4-40GB": "A100-40GB",
    "A100-PCIE-40GB": "A100-40GB",
    "A100-SXM4-80GB": "A100-80GB",
    "A100 80GB PCIe": "A100-80GB",
    "A10G": "A10G",
    "A30": "A30-24GB",
    "B200": "B200-180GB",
    "GB200": "GB200",
    "GH200 480GB": "GH200-96GB",  # 480 GB is the memory of its CPU
    "H100 80GB HBM3": "H100-80GB-SXM",
    "H100 NVL": "H100-94GB-NVL",
    "H200": "H200-141GB",
    "L4": "L4",
    "L40S": "L40S",
    "GeForce RTX 2060": "RTX-2060",
    "GeForce RTX 2080 Ti": "RTX-2080-Ti",
    "RTX PRO 6000 Blackwell Server Edition": "RTX-PRO-6000-96GB",
    "T4": "T4",
    "V100-SXM2-16GB": "V100-SXM2-16GB",
}
"""The driver's name without its brand -> name in the catalogue."""


def catalogue_name(driver_name: str) -> str:
    """Returns a GPU's type in the catalogue; what the driver calls it if the catalogue has no such type."""
    for brand in ("NVIDIA ", "Tesla "):
        driver_name = driver_name.removeprefix(brand)
    return CATALOGUE_NAMES.get(driver_name, driver_name)
