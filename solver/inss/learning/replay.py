"""What was tried last, to learn from in any order."""

from dataclasses import dataclass

import numpy as np

from ..latency import Ints
from .network import Singles


@dataclass(eq=False)
class Replay:
    """The last so many steps; the first axis is the step, written round and round."""

    state: Singles
    marks: Ints
    reward: Singles
    after: Singles
    ends: Singles
    written: int = 0

    @classmethod
    def of(cls, size: int, state: int, marks: int) -> "Replay":
        """Returns an empty one."""
        return cls(
            np.zeros((size, state), dtype=np.float32),
            np.zeros((size, marks), dtype=np.int64),
            np.zeros(size, dtype=np.float32),
            np.zeros((size, state), dtype=np.float32),
            np.zeros(size, dtype=np.float32),
        )

    def __len__(self) -> int:
        """Returns how many steps there are."""
        return min(self.written, len(self.reward))

    def add(self, state: Singles, marks: Ints, reward: float, after: Singles, ends: bool) -> None:
        """Keeps a step in the place of the oldest one."""
        at = self.written % len(self.reward)
        self.state[at], self.marks[at], self.reward[at] = state, marks, reward
        self.after[at], self.ends[at] = after, ends
        self.written += 1

    def drawn(self, count: int, draw: np.random.Generator) -> tuple[Singles, Ints, Singles, Singles, Singles]:
        """Returns so many steps, with repetition: states, marks, rewards, states after, ends."""
        at = draw.integers(0, len(self), count)
        return self.state[at], self.marks[at], self.reward[at], self.after[at], self.ends[at]
