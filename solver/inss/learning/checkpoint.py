"""A training kept in a file, to go on from: all numbers, what was tried, and the state of the random numbers."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model.errors import Finding, InputError
from .actor_file import digest_of, refuse_another
from .arrays_file import read_arrays, write_arrays
from .environment import Setting
from .soft_actor_critic import Learning
from .training import Evaluated, Training, begun

KIND = "sliceplan inss checkpoint"


def write_checkpoint(path: Path, training: Training, setting: Setting) -> None:
    """Writes a training as far as it is."""
    agent = training.agent
    record = {
        "kind": KIND,
        "version": 1,
        "digest": digest_of(setting.latencies.problem),
        "problem": setting.latencies.problem.name,
        "learning": asdict(agent.learning),
        "seed": training.seed,
        "episode": training.episode,
        "curve": [asdict(one) for one in training.curve],
        "random": training.draw.bit_generator.state,
        "temperature_log": agent.temperature_log,
        "adam_steps": [one.steps for one in (*agent.steps, agent.temperature_step)],
        "written": training.replay.written,
    }
    write_arrays(path, record, _arrays(training))


def _arrays(training: Training) -> dict[str, NDArray[Any]]:
    """Returns the arrays of a training by name; they are views of what it learns with."""
    agent, replay = training.agent, training.replay
    networks = {"actor": agent.actor, **{f"critic_{i}": one for i, one in enumerate(agent.critics)}}
    networks |= {f"target_{i}": one for i, one in enumerate(agent.targets)}
    arrays: dict[str, NDArray[Any]] = {name: one.numbers for name, one in networks.items()}
    for i, adam in enumerate((*agent.steps, agent.temperature_step)):
        arrays |= {f"adam_mean_{i}": adam.mean, f"adam_square_{i}": adam.square}
    arrays |= {f"replay_{name}": getattr(replay, name) for name in ("state", "marks", "reward", "after", "ends")}
    arrays["best"] = training.best_actor.numbers
    return arrays


def read_checkpoint(path: Path, setting: Setting) -> Training:
    """Returns the training of a file; InputError: it is damaged, or of another problem."""
    record, arrays = read_arrays(path, "a checkpoint of `sliceplan train-inss`")
    if record.get("kind") != KIND or record.get("version") != 1:
        message = f"is {record.get('kind')!r}, version {record.get('version')!r}; expected {KIND!r}, version 1"
        raise InputError([Finding(str(path), "", message)])
    refuse_another(str(path), str(record.get("problem")), str(record.get("digest")), setting.latencies.problem)
    try:
        hidden = record["learning"]["hidden"]
        learning = Learning(**{**record["learning"], "hidden": (int(hidden[0]), int(hidden[1]))})
        training = begun(setting, learning, int(record["seed"]))
        training.best = training.agent.actor.numbers.copy()
        for name, own in _arrays(training).items():
            if own.shape != arrays[name].shape or own.dtype != arrays[name].dtype:
                raise ValueError(name)
            own[...] = arrays[name]
        training.episode, training.replay.written = int(record["episode"]), int(record["written"])
        training.curve = [Evaluated(**one) for one in record["curve"]]
        training.draw.bit_generator.state = record["random"]
        training.agent.temperature_log = float(record["temperature_log"])
        adams = (*training.agent.steps, training.agent.temperature_step)
        for adam, steps in zip(adams, record["adam_steps"], strict=True):
            adam.steps = int(steps)
        if not all(np.isfinite(one).all() for one in _arrays(training).values()):
            raise ValueError("numbers")
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, MemoryError) as error:
        message = f"is damaged ({type(error).__name__} in {error}); train anew, with another --checkpoint"
        raise InputError([Finding(str(path), "", message)]) from error
    return training
