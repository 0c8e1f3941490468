"""`sliceplan-agent status`: from the words of the command line to what is printed."""

import json

from ..devices.nvml.catalogue_check import catalogue_lines
from ..devices.nvml.reading import driver_version
from ..setup.device import device_of, other_managers_of
from ..setup.opening import Words, configured
from ..status.report import look
from ..status.text import status_text


def show_status(words: Words, as_json: bool) -> int:
    """Prints the state of this node; returns 0, or 1 if it is not what was applied, or could not be found out."""
    config = configured(words)
    driver = driver_version() if config.device in ("nvml", "nvml+cores") else None
    report = look(config.node_name, device_of(config), config.state_dir, other_managers_of(config), driver)
    if as_json:
        print(json.dumps(report.as_data(), indent=1))
    else:
        for line in status_text(report):
            print(line)
    return 1 if report.problems or report.drift else 0


def show_catalogue() -> int:
    """Prints where the driver's MIG profiles differ from the catalogue; returns 1 if they do, or there is no driver."""
    lines = list(catalogue_lines())
    for line in lines or ["The catalogue agrees with the driver about the MIG profiles of every GPU."]:
        print(line)
    return 1 if lines else 0
