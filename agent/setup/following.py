"""Following a plan: what `run` and `apply` ask for the state that the node should have."""

import hashlib
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ...solver.model.parsing import parse_record
from ...solver.model.plan import Plan
from ..files.guarded_folder import GuardedFolder
from ..model.desired import Desired, PlanReference
from ..model.plan_files import node_share
from ..transition.applied import Applied
from ..transition.reconcile import Wanted
from ..transition.state_folder import SIGNED
from ..trust.acceptance import accept, verified
from ..trust.plan_source import Fetched, PlanSource
from ..trust.sequence import NewestRelease, read_newest, refuse_older, remember
from ..trust.strict_json import parse_json
from ..trust.trusted_keys import read_trusted_keys
from .configuration import AgentConfig


class PlanFollower:
    """The plan source of a node; keeps the last answer, so that an unchanged plan is not sent again."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        self._fetched: Fetched | None = None

    def __call__(self) -> Wanted:
        """
        Asks the source for the plan, which takes no lock; returns what tells, with the lock held, what it wants.

        Raises
        ------
        InputError
            If the source has no plan.
        """
        fetched = self._config.plan_source.fetch(self._fetched.etag if self._fetched else None)
        if fetched is not None:
            self._fetched = fetched
        assert self._fetched is not None, "a server answers `not modified` only to who has a version"
        return partial(self._accepted, self._fetched.data)

    def _accepted(self, data: bytes, applied: Applied | None) -> Desired:
        """
        Returns what a plan wants.

        The keys are read anew each time: a key that was withdrawn counts no longer, though its plan has not changed.
        """
        config, source = self._config, self._config.plan_source
        newest = _newest(GuardedFolder(config.state_dir), applied)
        accepted = accept(
            data,
            source.location,
            node=config.node_name,
            keys=read_trusted_keys(config.trusted_keys),
            newest=newest,
            now=datetime.now(UTC),
        )
        plan = PlanReference(source.location, accepted.sha256, accepted.release.sequence)
        return Desired(accepted.desired, plan, data)

    def verified(self, data: bytes) -> Desired:
        """Returns what a signed plan wants that was begun before; raises InputError as for one that is fetched."""
        config, folder = self._config, GuardedFolder(self._config.state_dir)
        source = str(folder.path / SIGNED)
        keys = read_trusted_keys(config.trusted_keys)
        found = verified(data, source, node=config.node_name, keys=keys)
        refuse_older(found.release, found.sha256, read_newest(folder), source)
        return Desired(found.desired, PlanReference(source, found.sha256, found.release.sequence), data)


def _newest(folder: GuardedFolder, applied: Applied | None) -> NewestRelease | None:
    """Returns the newest release that was ever applied, and notes it if that happened since the last look."""
    newest = read_newest(folder)
    for plan in (applied.plan, applied.rolled_back) if applied else ():
        if plan is not None and plan.sequence is not None:
            newest = remember(folder, NewestRelease(sequence=plan.sequence, sha256=plan.sha256))
    return newest


def desired_of(path: Path, node: str) -> Desired:
    """Reads a plan file that nobody signed; raises InputError if it is wrong or has nothing for the node."""
    fetched = PlanSource(str(path)).fetch()
    assert fetched is not None, "a file is always there in full"
    plan = parse_record(Plan, parse_json(fetched.data, str(path)), str(path))
    reference = PlanReference(str(path), hashlib.sha256(fetched.data).hexdigest())
    return Desired(node_share(plan, node, str(path)), reference)
