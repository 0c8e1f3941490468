"""
Discrete soft actor-critic with a head for each choice (InSS, section 5.4, table 1; Christodoulou 2019).

Actor and critics give a number for each choice of each head; pi is a softmax by head.

    V_h(s')   = sum over a of pi(a) (min over v of Q'_v(s', a) - tau log pi(a))
    critic    sum over heads of (Q_v(s, a_h) - r - gamma (1 - end) V_h(s'))^2, each critic its own; mean over the batch
    actor     sum over all choices of pi (tau log pi - min over v of Q_v); mean over the batch
    tau       d log tau = rate (log pi + target), averaged with pi
    critics'  target <- 0.01 critic + 0.99 target

Where paper and source differ this is the paper: replay drawn evenly, target entropy -log(1 + outputs). With that target
entropy plus log(1 + outputs) is always above 0, so that tau only falls, by 1e-4 an update. Equation 6 prints the lesser
critic within the loss of each, and no index of the action; above is what makes sense of it. The published program keeps
its heads where the optimiser does not see them.
"""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from ..latency import Ints
from .heads import Heads
from .network import Adam, Network, Singles

MIXED = 0.01
"""kappa: part of a critic that its target takes at each update."""


@dataclass(frozen=True)
class Learning:
    """How it learns; the defaults are table 1's."""

    hidden: tuple[int, int] = (512, 256)
    gamma: float = 0.99
    rate: float = 1e-4
    replay: int = 10_000
    batch: int = 100
    first_temperature: float = 1.0


@dataclass(eq=False)
class Agent:
    """What learns."""

    heads: Heads
    learning: Learning
    actor: Network
    critics: tuple[Network, Network]
    targets: tuple[Network, Network]
    steps: tuple[Adam, Adam, Adam]
    """Of the actor and of the critics."""
    temperature_log: float
    temperature_step: Adam

    @classmethod
    def drawn(cls, heads: Heads, state: int, learning: Learning, draw: np.random.Generator) -> "Agent":
        """Returns an agent that has learned nothing."""
        sizes = (state, *learning.hidden, heads.size)
        actor = Network.drawn(sizes, draw)
        critics = (Network.drawn(sizes, draw), Network.drawn(sizes, draw))
        targets = (Network(sizes, critics[0].numbers.copy()), Network(sizes, critics[1].numbers.copy()))
        adams = tuple(Adam.of(one.numbers, learning.rate) for one in (actor, *critics))
        return cls(
            heads, learning, actor, critics, targets, (adams[0], adams[1], adams[2]), log(learning.first_temperature),
            Adam.of(np.zeros(1, dtype=np.float32), learning.rate),
        )  # fmt: skip

    @property
    def temperature(self) -> float:
        """tau: what entropy is worth."""
        return exp(self.temperature_log)

    def update(self, drawn: tuple[Singles, Ints, Singles, Singles, Singles]) -> None:
        """Learns from steps that were drawn."""
        state, marks, reward, after, ends = drawn
        self._update_critics(state, marks, self._goals(reward, after, ends))
        self._update_actor(state)
        for critic, target in zip(self.critics, self.targets, strict=True):
            target.numbers[...] += MIXED * (critic.numbers - target.numbers)

    def _goals(self, reward: Singles, after: Singles, ends: Singles) -> Singles:
        """Returns r + gamma V_h(s') of each head, shape (row, 2 models)."""
        chances, logarithms = self.heads.chances(self.actor.of(after))
        least = np.minimum(self.targets[0].of(after), self.targets[1].of(after))
        values = np.concatenate(self.heads.summed(chances * (least - self.temperature * logarithms)), axis=1)
        goals: Singles = (reward[:, None] + self.learning.gamma * (1 - ends[:, None]) * values).astype(np.float32)
        return goals

    def _update_critics(self, state: Singles, marks: Ints, goals: Singles) -> None:
        rows = np.arange(len(state))[:, None]
        for critic, adam in zip(self.critics, self.steps[1:], strict=True):
            values = critic.kept(state)
            of_outputs = np.zeros_like(values[-1])
            of_outputs[rows, marks] = np.float32(2 / len(state)) * (values[-1][rows, marks] - goals)
            adam.step(critic.numbers, critic.gradient(values, of_outputs))

    def _update_actor(self, state: Singles) -> None:
        values = self.actor.kept(state)
        chances, logarithms = self.heads.chances(values[-1])
        least = np.minimum(self.critics[0].of(state), self.critics[1].of(state))
        # d/dz of sum pi f, f = tau log pi - Q, is pi (f - sum pi f): what tau log pi adds of its own sums to 0.
        worth = self.temperature * logarithms - least
        of_outputs = np.empty_like(worth)
        for chance, value, into in zip(*map(self.heads.parts, (chances, worth, of_outputs)), strict=True):
            into[...] = chance * (value - (chance * value).sum(axis=2, keepdims=True))
        of_outputs /= np.float32(len(state))
        self.steps[0].step(self.actor.numbers, self.actor.gradient(values, of_outputs))
        self._update_temperature(chances, logarithms)

    def _update_temperature(self, chances: Singles, logarithms: Singles) -> None:
        """One step of Adam on log tau; the target entropy is -log(1 + outputs), as table 1 has it."""
        entropy = -float((chances * logarithms).sum()) / (len(chances) * 2 * self.heads.models)
        target = -log(1 + self.heads.size)
        number = np.array([self.temperature_log], dtype=np.float32)
        self.temperature_step.step(number, np.array([entropy - target], dtype=np.float32))
        self.temperature_log = float(number[0])
