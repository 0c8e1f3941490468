"""How messages count things, and what tables call the statuses."""

from collections.abc import Iterable

from .plan import PlannedGpu, Status


def counted(number: int, noun: str) -> str:
    """Returns a number and its noun: `1 GPU`, `2,000 GPUs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counted_boards(gpus: int, cpus: int) -> str:
    """Returns how many GPUs and CPUs: `4 GPUs`, `1 GPU, 1 CPU`, `2 CPUs`; a CPU never counts as a GPU."""
    return ", ".join([counted(gpus, "GPU")] * (gpus > 0 or not cpus) + [counted(cpus, "CPU")] * (cpus > 0))


def boards_of(gpus: Iterable[PlannedGpu]) -> tuple[int, int]:
    """Returns how many of the boards of a plan are GPUs, and how many CPUs."""
    is_cpu = [gpu.sharing == "cores" for gpu in gpus]
    return len(is_cpu) - sum(is_cpu), sum(is_cpu)


def boards_in_words(gpus: Iterable[PlannedGpu]) -> str:
    """Returns how many boards a plan has, as headlines say it."""
    return counted_boards(*boards_of(gpus))


def boards_in_cell(gpus: Iterable[PlannedGpu]) -> str:
    """Returns the same for a column that is called GPUs: a number, in words only where there are CPUs."""
    gpu_count, cpu_count = boards_of(gpus)
    return counted_boards(gpu_count, cpu_count) if cpu_count else f"{gpu_count:,}"


def short_status(status: str) -> str:
    """Returns the word or two that a table has for a status."""
    return {Status.NONE_FOUND.value: "none found", Status.TIMEOUT.value: "no answer"}.get(str(status), str(status))
