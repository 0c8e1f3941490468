"""Processes that write to one store at once; here, where a started process can import them."""

from dataclasses import dataclass
from multiprocessing import get_context

from sliceplan.app.store.conflicts import ConflictError
from sliceplan.app.store.opening import open_store
from sliceplan.app.store.problems import latest_version, load_problem, save_new_problem, save_problem, versions
from sliceplan.solver.differences.merging import merged
from sliceplan.solver.model.problem import Problem
from support.main_module import without_main_module

SHARED = Problem.model_validate(
    {
        "version": 1,
        "name": "shared",
        "fleet": [{"gpu": "A100-80GB"}],
        "workloads": [{"name": "shared", "model": "bert", "rate_rps": 1, "slo_ms": 300}],
    }
)


@dataclass(frozen=True)
class Outcome:
    """What a process did."""

    saved: tuple[str, ...]
    """Names of the workloads that it added."""
    conflicts: int


def with_workload(problem, name):
    """Returns a problem with one more workload."""
    data = problem.model_dump(mode="json")
    data["workloads"].append({"name": name, "model": "bert", "rate_rps": 1, "slo_ms": 300})
    return Problem.model_validate(data)


def run_at_once(work, url, count, *arguments):
    """Runs work(url, author, barrier, *arguments) in `count` new processes, and returns what each of them returned."""
    context = get_context("spawn")
    barrier, writers, answers = context.Barrier(count), [], []
    for number in range(count):
        answer, answering = context.Pipe(duplex=False)
        writer = context.Process(target=_answer, args=(answering, work, url, f"author-{number}", barrier, *arguments))
        with without_main_module():
            writer.start()
        answering.close()  # so that the end of a process that dies without an answer is an error, not a wait
        writers.append(writer)
        answers.append(answer)
    found = [answer.recv() for answer in answers]
    for writer in writers:
        writer.join()
    for answer in found:
        if isinstance(answer, str):
            raise AssertionError(answer)
    return found


def edit_together(url, author, barrier, rounds):
    """Edits the same version as the other in every round, and merges where the other was faster."""
    store = open_store(url)
    saved, conflicts = [], 0
    for number in range(rounds):
        base = latest_version(store, "shared").key
        mine = with_workload(load_problem(store, base), f"{author}-{number}")
        barrier.wait(60)
        while True:
            try:
                save_problem(store, mine, parent=base, author=author)
                break
            except ConflictError as error:
                conflicts += 1
                conflict = error.conflict
                mine, base = merged(conflict.base_problem, mine, conflict.their_problem).problem, conflict.theirs.key
        saved.append(f"{author}-{number}")
        barrier.wait(60)
    store.dispose()
    return Outcome(tuple(saved), conflicts)


def edit_apart(url, author, barrier, rounds):
    """Opens a database that is empty for all of them, and edits a problem of its own while others edit theirs."""
    barrier.wait(60)
    store = open_store(url)
    version = save_new_problem(store, SHARED, author=author, name=author)
    for number in range(rounds):
        version = save_problem(store, SHARED, parent=version.key, author=author, note=str(number))
    count = len(versions(store, author))
    store.dispose()
    return count


def _answer(answering, work, url, author, barrier, *arguments):
    try:
        answering.send(work(url, author, barrier, *arguments))
    except BaseException as error:
        barrier.abort()
        answering.send(f"{author}: {type(error).__name__}: {error}")
