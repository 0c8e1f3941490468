"""
How the scheduler learns (InSS, Algorithm 2): episodes at drawn rates, and every so often an evaluation that is not
learned from, in which it takes its likeliest choices at the rates of the file. The best evaluation's actor is kept.

All that a training is stands in `Training`, so that one that was ended goes on as if it had not been (checkpoint.py).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ...performance.interference.prediction import Floats
from ...runtime.interruption import interruption
from ..rates import Walk
from .environment import Environment, Setting, Step
from .heads import Heads
from .network import Network, Singles
from .replay import Replay
from .soft_actor_critic import Agent, Learning

SECONDS = 200
"""Steps of an episode (table 1)."""


@dataclass(frozen=True)
class Evaluated:
    """What one evaluation came to; means over its seconds, but for the share of the tasks."""

    episode: int
    reward: float
    late_share: float
    """Of all tasks."""
    normalised: float
    """Sum of floor(h)/H."""
    capacity_rps: float
    fits: bool
    """Memory sufficed in every second."""


@dataclass(eq=False)
class Training:
    """A training as far as it is."""

    agent: Agent
    replay: Replay
    draw: np.random.Generator
    seed: int
    episode: int = 0
    curve: list[Evaluated] = field(default_factory=list)
    best: Singles | None = None
    """Numbers of the actor of the best evaluation."""

    @property
    def best_actor(self) -> Network:
        """Returns that actor; before any evaluation the one that there is."""
        numbers = self.agent.actor.numbers if self.best is None else self.best
        return Network(self.agent.actor.sizes, numbers)


def begun(setting: Setting, learning: Learning, seed: int) -> Training:
    """Returns a training of which nothing is done."""
    draw = np.random.default_rng(seed)
    heads = heads_of(setting)
    agent = Agent.drawn(heads, setting.state_size, learning, draw)
    return Training(agent, Replay.of(learning.replay, setting.state_size, 2 * heads.models), draw, seed)


def heads_of(setting: Setting) -> Heads:
    """Returns the choices that a problem has."""
    return Heads(setting.models, len(setting.gpu_units), int(setting.gpu_units.max()))


def trained(
    training: Training,
    setting: Setting,
    walk: Walk,
    *,
    episodes: int,
    evaluate_every: int,
    after_evaluation: Callable[[Training], object],
    seconds: int = SECONDS,
    deadline: float = inf,
) -> None:
    """
    Goes on until so many episodes are done in all, time is over, or somebody interrupts it.

    An episode that has begun is ended, as a training could not go on from the middle of one, and an evaluation comes
    last. So none is begun that would not be over in time, if it takes as long as the longest before it.

    Parameters
    ----------
    deadline
        As time.monotonic() has it.
    """
    stop = interruption()
    longest_s = 0.0
    while training.episode < episodes and not (stop is not None and stop.is_set()):
        begin = time.monotonic()
        if begin + longest_s >= deadline:
            break
        _episode(training, Environment(setting, walk.drawn(seconds, training.draw)))
        training.episode += 1
        longest_s = max(longest_s, time.monotonic() - begin)
        if training.episode % evaluate_every == 0:
            _evaluate(training, setting, walk.evaluation(seconds))
            after_evaluation(training)
    if not training.curve or training.curve[-1].episode < training.episode:
        _evaluate(training, setting, walk.evaluation(seconds))
        after_evaluation(training)


def _episode(training: Training, environment: Environment) -> None:
    agent, replay, draw = training.agent, training.replay, training.draw
    state = environment.state().astype(np.float32)
    while not environment.is_over:
        gpu, units = agent.heads.drawn(agent.actor.of(state[None]), draw)
        step = environment.act(gpu, units)
        after = environment.state().astype(np.float32)
        replay.add(state, agent.heads.marks(gpu, units), step.reward, after, environment.is_over)
        state = after
        if len(replay) >= agent.learning.batch:
            agent.update(replay.drawn(agent.learning.batch, draw))


def _evaluate(training: Training, setting: Setting, rates_rps: Floats) -> None:
    found = evaluated(training.agent.actor, training.agent.heads, setting, rates_rps, training.episode)
    if training.best is None or found.reward > max(one.reward for one in training.curve):
        training.best = training.agent.actor.numbers.copy()
    training.curve.append(found)


def evaluated(actor: Network, heads: Heads, setting: Setting, rates_rps: Floats, episode: int) -> Evaluated:
    """Returns what an actor's likeliest choices come to; rates have shape (second, model)."""
    environment = Environment(setting, rates_rps)
    steps = []
    while not environment.is_over:
        gpu, units = heads.greedy(actor.of(environment.state().astype(np.float32)[None]))
        steps.append(environment.act(gpu, units))
    return summed(steps, episode)


def summed(steps: list[Step], episode: int = 0) -> Evaluated:
    """Returns the means of seconds."""
    return Evaluated(
        episode=episode,
        reward=float(np.mean([one.reward for one in steps])),
        late_share=sum(one.late for one in steps) / max(sum(one.tasks for one in steps), 1),
        normalised=float(np.mean([one.normalised for one in steps])),
        capacity_rps=float(np.mean([one.capacity_rps for one in steps])),
        fits=all(one.fits for one in steps),
    )
