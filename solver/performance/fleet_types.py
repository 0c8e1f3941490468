"""The GPU and CPU types that a plan may use, and the sizes of partition that they are divided into."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.core_partitions import Cores, CoreTree
from ..model.cpu import Cpu
from ..model.hardware import Gpu, MigGeometry, MigProfile
from ..model.problem import Sharing
from ..model.sharing import cores_in_words
from .core_divisions import OuterDivision, domain_cuts, even_divisions, listed_divisions, outer_divisions
from .operating_points import WHOLE_GPU


@dataclass(frozen=True)
class PartitionSize:
    """
    One size of partition of one GPU or CPU type that one workload has for itself: a MIG instance, the whole GPU, or
    some cores.
    """

    gpu: str
    """GPU or CPU type."""
    mig: MigProfile | None
    """None: no MIG instance."""
    cores: int | None = None
    """Of a CPU; None: of a GPU."""

    @property
    def name(self) -> str:
        """The name of what it is a part of a type: `kind`, or WHOLE_GPU."""
        return self.kind or WHOLE_GPU

    @property
    def kind(self) -> str | None:
        """The MIG profile's name, or that of the cores; None: the whole GPU."""
        if self.cores is not None:
            return cores_in_words(self.cores)
        return self.mig.name if self.mig else None

    @property
    def sharing(self) -> Sharing:
        """How a GPU or a CPU is divided into partitions of this size."""
        if self.cores is not None:
            return "cores"
        return "mig" if self.mig else "exclusive"

    @property
    def profile(self) -> MigProfile:
        """The MIG profile; ValueError if this is a whole GPU."""
        if self.mig is None:
            raise ValueError(f"a whole {self.gpu} is no MIG instance")
        return self.mig

    def __str__(self) -> str:
        return f"{self.kind} of {self.gpu}" if self.kind else f"a whole {self.gpu}"


@dataclass(frozen=True)
class FleetType:
    """GPUs, or CPUs, of one type that a plan may use."""

    gpu: Gpu | Cpu
    price_per_hour: float
    available: int | None
    """None: as many as needed."""
    sharing: frozenset[Sharing]

    @property
    def facts(self) -> Gpu:
        """What the catalogue says of the GPU; ValueError if it is a CPU."""
        if isinstance(self.gpu, Cpu):
            raise ValueError(f"{self.gpu.name} is a CPU")
        return self.gpu

    @property
    def geometry(self) -> MigGeometry:
        """MIG geometry; ValueError if GPUs of this type may not be cut by MIG."""
        mig = self.facts.mig
        if mig is None or "mig" not in self.sharing:
            raise ValueError(f"{self.gpu.name} may not be cut by MIG here")
        return mig

    @property
    def tree(self) -> CoreTree:
        """How the cores of a CPU hang together; ValueError if it is a GPU."""
        if not isinstance(self.gpu, Cpu):
            raise ValueError(f"{self.gpu.name} has no cores to divide")
        return CoreTree.of(self.gpu)

    def divisions(self, sizes: Sequence[PartitionSize]) -> tuple[tuple[str, ...], ...]:
        """
        Returns the maximal multisets of partitions that a CPU can be divided into, as names.

        Where they are too many, the even ones: enough for prices, and part of what a program has (`parts`).
        """
        tree, cores = self.tree, _cores(sizes)
        listed = listed_divisions(tree, cores)
        found = even_divisions(tree, cores) if listed is None else listed
        return tuple(tuple(map(cores_in_words, one)) for one in found)

    def parts(self, sizes: Sequence[PartitionSize]) -> tuple[tuple[OuterDivision, ...], tuple[Cores, ...]] | None:
        """Returns what CPUs and their domains are divided into, each by itself; None: all divisions are listed."""
        tree, cores = self.tree, _cores(sizes)
        if listed_divisions(tree, cores) is not None:
            return None
        return outer_divisions(tree, cores), domain_cuts(tree, cores)


def _cores(sizes: Sequence[PartitionSize]) -> Cores:
    return tuple(size.cores for size in sizes if size.cores is not None)
