"""Soft actor-critic: gradients against differences, a training that goes on as if it had not ended, and its files."""

import io
import json
import zipfile
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from problems.inss_instances import six_models

from sliceplan.solver.inss.latency import latencies_of
from sliceplan.solver.inss.learning import arrays_file
from sliceplan.solver.inss.learning import training as training_module
from sliceplan.solver.inss.learning.actor_file import read_actor, write_actor
from sliceplan.solver.inss.learning.checkpoint import read_checkpoint, write_checkpoint
from sliceplan.solver.inss.learning.environment import Setting
from sliceplan.solver.inss.learning.episodes import at_random
from sliceplan.solver.inss.learning.heads import Heads
from sliceplan.solver.inss.learning.network import Adam, Network
from sliceplan.solver.inss.learning.soft_actor_critic import Agent, Learning
from sliceplan.solver.inss.learning.training import begun, evaluated, trained
from sliceplan.solver.inss.rates import walk_of
from sliceplan.solver.inss.shipped_problem import shipped_actor
from sliceplan.solver.model.errors import InputError

SMALL = Learning(hidden=(8, 6), batch=10, replay=50)


@pytest.fixture(scope="module")
def setting():
    return Setting(latencies_of(six_models()))


def go_on(training, setting, episodes, deadline=inf):
    trained(
        training, setting, walk_of(setting.latencies.problem), episodes=episodes, evaluate_every=1,
        after_evaluation=lambda _: None, seconds=20, deadline=deadline,
    )  # fmt: skip
    return training


@pytest.mark.parametrize(("deadline", "episodes"), [(0, 0), (5, 1), (30, 1), (31, 2), (50, 2), (51, 3), (1e9, 9)])
def test_no_episode_is_begun_that_would_end_after_the_limit(setting, monkeypatch, deadline, episodes):
    """Each takes 10 s of this clock, and so does what is between; nothing says how long the first one takes."""
    now = iter(range(0, 10_000, 10))
    monkeypatch.setattr(training_module, "time", SimpleNamespace(monotonic=lambda: float(next(now))))
    training = go_on(begun(setting, SMALL, 1), setting, 9, deadline)
    assert training.episode == episodes
    assert training.curve[-1].episode == episodes


def in_doubles(network):
    """Returns a network in double precision, so that differences are of use."""
    return Network(network.sizes, network.numbers.astype(np.float64))


def slope(function, numbers, at, step=1e-6):
    """Returns the difference quotient of a function of the numbers, which are put back."""
    before = numbers[at]
    numbers[at] = before + step
    above = function()
    numbers[at] = before - step
    below = function()
    numbers[at] = before
    return (above - below) / (2 * step)


def test_the_gradient_of_a_network():
    draw = np.random.default_rng(0)
    network = in_doubles(Network.drawn((4, 7, 5, 3), draw))
    inputs, weights = (draw.normal(size=(6, n)) for n in (4, 3))
    found = network.gradient(network.kept(inputs), weights)
    for at in draw.integers(0, len(network.numbers), 25):
        by_difference = slope(lambda: float((network.of(inputs) * weights).sum()), network.numbers, at)
        assert found[at] == pytest.approx(by_difference, abs=1e-7)


def test_the_chances_of_each_head_sum_to_1():
    heads = Heads(3, 2, 5)
    outputs = np.random.default_rng(0).normal(size=(4, heads.size)).astype(np.float32)
    chances, logarithms = heads.chances(outputs)
    assert np.concatenate(heads.summed(chances), axis=1) == pytest.approx(1, abs=1e-5)
    assert np.exp(logarithms) == pytest.approx(chances)
    gpu, units = heads.greedy(outputs[:1])
    marks = heads.marks(gpu, units)
    for mark, options in zip(marks, np.split(np.arange(heads.size), [2, 4, 6, 11, 16]), strict=True):
        assert outputs[0, mark] == outputs[0, options].max()
    drawn = [heads.drawn(outputs[:1], np.random.default_rng(seed)) for seed in range(400)]
    assert np.mean([one[0][0] for one in drawn]) == pytest.approx(chances[0, 1], abs=0.07)


def test_the_actor_goes_down_its_objective():
    """The gradient of sum of pi (tau log pi - least Q), averaged over the batch, by differences."""
    draw = np.random.default_rng(1)
    heads = Heads(2, 2, 3)
    agent = Agent.drawn(heads, 4, Learning(hidden=(6, 5)), draw)
    agent.actor = in_doubles(agent.actor)
    state = draw.normal(size=(5, 4))
    least = np.minimum(agent.critics[0].of(state), agent.critics[1].of(state))

    def objective():
        chances, logarithms = heads.chances(agent.actor.of(state))
        return float((chances * (logarithms - least)).sum()) / 5

    differences = np.array([slope(objective, agent.actor.numbers, at) for at in range(len(agent.actor.numbers))])

    class Kept(Adam):
        def step(self, numbers, gradient):  # noqa: ARG002
            self.seen = gradient.copy()

    kept = Kept.of(agent.actor.numbers, 0.0)
    agent.steps = (kept, *agent.steps[1:])
    agent._update_actor(state)
    assert kept.seen == pytest.approx(differences, abs=1e-7)
    assert agent.temperature < 1  # with table 1's target it only falls


def test_the_critics_go_down_to_the_goals():
    draw = np.random.default_rng(2)
    heads = Heads(2, 2, 3)
    agent = Agent.drawn(heads, 4, Learning(hidden=(16, 16), rate=1e-2, gamma=0.0), draw)
    state = draw.normal(size=(20, 4)).astype(np.float32)
    marks = heads.marks(draw.integers(0, 2, (20, 2)), draw.integers(1, 4, (20, 2)))
    reward = draw.normal(size=20).astype(np.float32)
    steps = (state, marks, reward, state, np.zeros(20, dtype=np.float32))

    def off():
        return float(np.mean((agent.critics[0].of(state)[np.arange(20)[:, None], marks] - reward[:, None]) ** 2))

    before = off()
    for _ in range(150):
        agent.update(steps)
    assert off() < 0.1 * before


def test_a_training_goes_on_as_if_it_had_not_ended(tmp_path, setting):
    whole = go_on(begun(setting, SMALL, 3), setting, 3)
    part = go_on(begun(setting, SMALL, 3), setting, 1)
    write_checkpoint(tmp_path / "kept.npz", part, setting)
    again = go_on(read_checkpoint(tmp_path / "kept.npz", setting), setting, 3)
    assert again.curve == whole.curve
    assert np.allclose(again.agent.actor.numbers, whole.agent.actor.numbers, atol=1e-5)
    assert np.allclose(again.best_actor.numbers, whole.best_actor.numbers, atol=1e-5)
    assert again.draw.bit_generator.state == whole.draw.bit_generator.state


@pytest.fixture(scope="module")
def actor_file(tmp_path_factory, setting):
    path = tmp_path_factory.mktemp("actor") / "actor.npz"
    training = go_on(begun(setting, SMALL, 1), setting, 1)
    write_actor(path, training, setting, None)
    return path


def test_an_actor_is_read_as_it_was_written(actor_file, setting):
    actor = read_actor(actor_file, setting)
    rates = walk_of(setting.latencies.problem).evaluation(20)
    best = max(actor.curve, key=lambda one: one.reward)
    assert evaluated(actor.network, actor.heads, setting, rates, best.episode) == best
    assert (actor.seed, actor.episodes, actor.exact) == (1, 1, None)


def test_the_shipped_actor_is_of_the_shipped_problem(setting):
    """It learned something, and stays behind the exact plans, which is what the page says of it."""
    assert shipped_actor().stat().st_size < 1 << 20
    actor = read_actor(shipped_actor(), setting)
    best = max(one.reward for one in actor.curve)
    assert best < actor.exact.reward
    rates = walk_of(setting.latencies.problem).evaluation(40)
    found = evaluated(actor.network, actor.heads, setting, rates, 0)
    assert found.fits
    assert found.reward > at_random(setting, rates, seed=1).reward


def test_an_actor_of_another_problem_is_refused_with_what_differs(actor_file):
    problem = six_models()
    longer = problem.models[0].model_copy(update={"slo_ms": 30.0})
    slower = problem.models[0].model_copy(update={"cache_sensitivity": 0.009})
    faster = problem.models[0].model_copy(update={"rate_rps": 300.0, "walk": None})
    rest = problem.models[1:]
    for changed, words in (
        ({"models": (longer, *rest)}, r"slo: 25.0, 80.0, .* there, 30.0, 80.0"),
        ({"models": (slower, *rest)}, "running times, memory or interference differ"),
        ({"models": rest}, "models: alexnet, resnet50"),
        ({"gpus": problem.gpus[:1]}, r"gpus: 2 x RTX-2060-Super of 17 units, 2 x RTX-2060 .* there"),
    ):
        with pytest.raises(InputError, match=rf"(?s)was trained for 'six-models-reconstructed'.*{words}"):
            read_actor(actor_file, Setting(latencies_of(problem.model_copy(update=changed))))
    other_rates = Setting(latencies_of(problem.model_copy(update={"name": "mine", "models": (faster, *rest)})))
    assert read_actor(actor_file, other_rates).episodes == 1


def changed(path, to, **changes):
    """Writes an actor file with another record or other arrays."""
    with np.load(path) as file:
        arrays = dict(file)
    record = json.loads(arrays["record"].tobytes())
    arrays |= {name: value for name, value in changes.items() if isinstance(value, np.ndarray)}
    record |= {name: value for name, value in changes.items() if not isinstance(value, np.ndarray)}
    arrays["record"] = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    np.savez(to, **arrays)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"actor": np.zeros(7, dtype=np.float32)}, "is damaged: its actor"),
        ({"actor": np.full(1120, np.nan, dtype=np.float32)}, "is damaged: its actor"),
        ({"sizes": [22, 5000, 126]}, "is damaged: its sizes"),
        ({"sizes": [22, 8, 6, 125]}, "is damaged: its sizes"),
        ({"sizes": "x"}, "is damaged"),
        ({"curve": [{"episode": 1}]}, "is damaged"),
        ({"kind": "something"}, "is 'something', version 1; expected 'sliceplan inss actor'"),
        ({"version": 2}, "version 2"),
    ],
)
def test_a_damaged_actor_is_refused(tmp_path, actor_file, setting, changes, words):
    changed(actor_file, tmp_path / "a.npz", **changes)
    with pytest.raises(InputError, match=words):
        read_actor(tmp_path / "a.npz", setting)


def test_no_file_is_unpickled_and_none_takes_all_memory(tmp_path, monkeypatch, actor_file, setting):
    monkeypatch.setattr(arrays_file, "MOST_BYTES", 1 << 20)
    path = tmp_path / "a.npz"
    content = actor_file.read_bytes()
    np.savez(path, record=np.array([{"a": 1}], dtype=object), actor=np.zeros(1))
    cases = [path.read_bytes(), b"", b"PK", b"text\n" * 50, content[: len(content) // 2], content[:-30]]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as members, members.open("actor.npy", "w") as member:
        member.write(bytes(2 << 20))
    cases.append(bomb.getvalue())
    for case in cases:
        path.write_bytes(case)
        for read, what in ((read_actor, "an actor of"), (read_checkpoint, "a checkpoint of")):
            with pytest.raises(InputError, match=f"expected {what} `sliceplan train-inss`"):
                read(path, setting)
    with pytest.raises(InputError, match="is not there"):
        read_actor(tmp_path / "no.npz", setting)
    with pytest.raises(InputError, match="is a folder"):
        read_actor(tmp_path, setting)
    path.write_bytes(content)
    with pytest.raises(InputError, match="expected 'sliceplan inss checkpoint'"):
        read_checkpoint(path, setting)
