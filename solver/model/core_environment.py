"""
The environment variables that tell a process on cores of a CPU how many threads to run.

One thread a physical core: what was measured on c cores ran on all their hardware threads, and libraries of dense
arithmetic gain nothing from a second thread on a core. Where a partition has several processes they share its cores,
each with its part of them as threads. OMP_NUM_THREADS reaches OpenMP and the libraries that look at it (oneDNN, MKL,
OpenBLAS); TVM reads its own. A server with neither (ONNX Runtime's intra-op threads, OpenVINO's streams) takes the
number from SLICEPLAN_THREADS. All of these are read once, when a process starts: one whose cores change in number has
to start anew.
"""


def threads_of(cores: int, processes: int) -> int:
    """Returns the threads of each process of a partition, at least one."""
    return max(1, cores // processes)


def thread_environment(threads: int) -> dict[str, str]:
    """Returns the variables that say how many threads a process shall run."""
    return dict.fromkeys(("OMP_NUM_THREADS", "TVM_NUM_THREADS", "SLICEPLAN_THREADS"), str(threads))
