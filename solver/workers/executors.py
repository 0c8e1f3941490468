"""
Where points are solved: worker processes of this machine, or a Dask cluster.

`SLICEPLAN_DASK=tcp://HOST:8786` names the scheduler of a cluster whose workers have this version of sliceplan
installed; nothing else changes. Dask starts a lost worker's tasks elsewhere by itself a few times before it gives them
up.
"""

import asyncio
import os
import socket
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor
from contextlib import contextmanager
from dataclasses import dataclass

from ..model.errors import Finding, InputError, MissingExtraError
from .pool import shared_pool

CLUSTER = "SLICEPLAN_DASK"

CONNECT_S = 10
"""How long a scheduler is waited for."""


@dataclass(frozen=True)
class Workers:
    """An executor and what its user needs to know of it."""

    executor: Executor
    """One that goes on when a worker is lost; ProcessPoolExecutor does not."""
    number: int
    """Calls that run at once."""
    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)
    """What a call fails with that may only have lost its worker."""


@contextmanager
def workers() -> Iterator[Workers]:
    """
    Gives the workers to use: the cluster that the environment names, else this machine's.

    Raises
    ------
    InputError
        If no scheduler answers at the address, or it has no workers.
    MissingExtraError
        If a cluster is named and `distributed` is not installed.
    """
    address = os.environ.get(CLUSTER)
    if address:
        with cluster_workers(address) as found:
            yield found
    else:
        pool = shared_pool()
        yield Workers(pool, pool.number)


@contextmanager
def cluster_workers(address: str) -> Iterator[Workers]:
    """Gives the workers of a Dask cluster; errors as for `workers`."""
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.addressing import get_address_host_port
    except ModuleNotFoundError as error:
        raise MissingExtraError("distributed", "cluster") from error
    try:
        # A client of nobody cannot be closed and complains about that later, so it is not made.
        socket.create_connection(get_address_host_port(address), CONNECT_S).close()
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        message = f"is {address!r}; no Dask scheduler answers there. Start one with: dask scheduler"
        raise InputError([Finding("environment", CLUSTER, message)]) from error
    with client:
        number = sum(client.nthreads().values())
        if number == 0:
            message = f"is {address!r}; that cluster has no workers. Start one with: dask worker {address}"
            raise InputError([Finding("environment", CLUSTER, message)])
        with client.get_executor() as executor:
            yield Workers(executor, number, (BrokenExecutor, KilledWorker, CancelledError, asyncio.CancelledError))
