"""Contents of GPUs of a type under MPS: residents beside one another."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from ...allocation.allocated import AllocatedGpu, MpsGpu
from ...performance.interference.prediction import Floats
from .alone import carried_alone
from .content_limit import content_limit
from .figures import Figures
from .gpu_contents import Content, ContentLimit
from .grown import grown
from .near_contents import NearContents


class SharedGpus:
    """They implement `GpuContents`."""

    def __init__(self, figures: Figures) -> None:
        """`figures`: of the GPU type."""
        self.figures = figures

    @property
    def gpu(self) -> str:
        """The GPU type."""
        return self.figures.mps.gpu

    @cached_property
    def _near(self) -> NearContents:
        return NearContents(self.figures)

    def has(self, content: Content) -> bool:
        """As the protocol says."""
        return isinstance(content.gpu, MpsGpu) and content.gpu.gpu == self.gpu

    def of(self, gpu: AllocatedGpu) -> Content | None:
        """As the protocol says."""
        return self.figures.content(gpu.residents) if isinstance(gpu, MpsGpu) and gpu.gpu == self.gpu else None

    def without(self, content: Content, gone: np.ndarray) -> Content | None:
        """As the protocol says."""
        assert isinstance(content.gpu, MpsGpu)
        return self.figures.content([one for one in content.gpu.residents if not gone[one.workload]])

    def limit(
        self, price: Floats, charge: Floats, *, known: float = 0.0, gap: float, cells: int, deadline: float
    ) -> ContentLimit:
        """As the protocol says (content_limit.py)."""
        return content_limit(self.figures, price, charge, known=known, gap=gap, cells=cells, deadline=deadline)

    def near(self, price: Floats, charge: Floats, known: Iterable[Content], number: int) -> list[Content]:
        """As the protocol says (near_contents.py)."""
        return self._near.found(price, charge, known, number)

    def grown(self, content: Content, price: Floats, least_rps: Floats) -> Content:
        """As the protocol says (grown.py)."""
        return grown(self.figures, content, price, least_rps)

    def carried_alone(self) -> Floats:
        """As the protocol says."""
        return carried_alone(self.figures)
