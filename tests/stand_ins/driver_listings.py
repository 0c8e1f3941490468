"""What `nvidia-smi mig -lgip` and `-lgipp` print for the boards of the catalogue."""

import re

from sliceplan.solver.model.catalogue import load_catalogue

CATALOGUE = load_catalogue()

FRAME = "+-----------------------------------------------------------------------------+\n"
HEAD = f"""{FRAME}| GPU instance profiles:                                                      |
| GPU   Name             ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                              Free/Total   GiB              CE    JPEG  OFA  |
|=============================================================================|
"""


def listed_ids(board):
    """Returns the ids that a driver lists for a board; of those that the catalogue does not know, some."""
    return {
        profile.name: 100 + number if profile.nvml_profile_id is None else profile.nvml_profile_id
        for number, profile in enumerate(CATALOGUE[board].mig.profiles)
    }


def lgipp(board, gpu=0):
    """Returns what `nvidia-smi mig -lgipp` prints for a board, as far as the catalogue knows it."""
    ids = listed_ids(board)
    lines = []
    for profile in CATALOGUE[board].mig.profiles:
        starts = ",".join(map(str, profile.starts))
        word = "Placements:" if len(profile.starts) > 1 else "Placement :"
        lines.append(f"GPU {gpu:2} Profile ID {ids[profile.name]:2} {word} {{{starts}}}:{profile.memory_slices}\n")
    return "".join(lines)


def lgip(board, gpu=0, unknown_sms=11, off=0.0):
    """
    Returns what `nvidia-smi mig -lgip` prints for a board.

    Parameters
    ----------
    unknown_sms
        Stands for the SMs that the catalogue does not know; memory that it does not know is that of the name.
    off
        By how much of itself each memory differs.
    """
    ids = listed_ids(board)
    rows = []
    for one in CATALOGUE[board].mig.profiles:
        named = float(re.search(r"\.(\d+)gb", one.name)[1])
        memory = (one.memory_gib or 0.95 * named) * (1 + off)
        sms = one.sm_count or unknown_sms
        counts = f"{one.max_count}/{one.max_count}"
        figures = f"{ids[one.name]:3}  {counts:>6} {memory:11.2f}       No  {sms:5}     1     0"
        engines = "|                                                             1     1     0   |\n"
        rows.append(f"|{gpu:4}  MIG {one.name:14} {figures}   |\n{engines}{FRAME}")
    return HEAD + "".join(rows)
