"""
Models that run on the GPU of this process, batch by batch, each batch as one CUDA graph.

The weights are random: they change no time. A batch is sent to the GPU, computed in half precision, and its answer is
sent back; what it takes is what a server that waits for it sees.
"""

import time
from collections.abc import Callable, Iterable

import torch
import torchvision

IMAGE = (3, 224, 224)
TOKENS, VOCABULARY = 128, 30_522
"""Of BERT base, whose shape the encoder has."""


class Encoder(torch.nn.Module):
    """An encoder of the size of BERT base: 12 layers of 768 with 12 heads, and a classifier of two."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, 768)
        layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, 0.0, "gelu", batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
        self.head = torch.nn.Linear(768, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embedding(tokens))[:, 0])


BUILT: dict[str, Callable[[], torch.nn.Module]] = {
    "resnet50": torchvision.models.resnet50,
    "vgg19": torchvision.models.vgg19,
    "mobilenetv2": torchvision.models.mobilenet_v2,
    "encoder-base-128": Encoder,
}


class Engine:
    """One model on this process' GPU, ready for some batch sizes."""

    def __init__(self, model: str, batches: Iterable[int], as_graph: bool = True) -> None:
        torch.manual_seed(1)
        torch.backends.cudnn.benchmark = False
        self._module = BUILT[model]().half().eval().cuda()
        self._tokens = model == "encoder-base-128"
        if not self._tokens:
            self._module = self._module.to(memory_format=torch.channels_last)
        self._as_graph = as_graph
        self._stream = torch.cuda.Stream()
        self._slots = {batch: self._ready(batch) for batch in batches}

    def run(self, batch: int) -> float:
        """Runs a batch, waits for its answer, and returns the ms that it took."""
        host, device, graph, output, answer = self._slots[batch]
        begin = time.perf_counter()
        with torch.cuda.stream(self._stream):
            device.copy_(host, non_blocking=True)
            if graph is None:
                output = self._module(device)
            else:
                graph.replay()
            answer.copy_(output, non_blocking=True)
        self._stream.synchronize()
        return 1000 * (time.perf_counter() - begin)

    def _ready(self, batch: int) -> tuple:
        if self._tokens:
            host = torch.randint(0, VOCABULARY, (batch, TOKENS), dtype=torch.int32).pin_memory()
            device = torch.zeros_like(host, device="cuda")
        else:
            host = torch.randn((batch, *IMAGE)).half().to(memory_format=torch.channels_last).pin_memory()
            device = torch.zeros_like(host, device="cuda")
        with torch.no_grad(), torch.cuda.stream(self._stream):
            for _ in range(2):
                output = self._module(device)
            self._stream.synchronize()
            graph = None
            if self._as_graph:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
                    output = self._module(device)
            self._stream.synchronize()
        answer = torch.empty(output.shape, dtype=output.dtype).pin_memory()
        return host, device, graph, output, answer
