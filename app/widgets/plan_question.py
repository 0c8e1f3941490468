"""A question about a plan that a job answers: asked once for each plan, its answer shown only beside that plan."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Answer, Session
from sliceplan.solver.model.plan import Plan

from .job_progress import begin
from .texts import literal


class PlanQuestion:
    """One question; `purpose` names its job, in words with underscores."""

    def __init__(self, purpose: str) -> None:
        self.purpose = purpose
        self._asked = Kept[Plan](f"plan_question.{purpose}")

    def was_asked(self, session: Session, plan: Plan) -> bool:
        """Tells whether it was asked of this very plan."""
        return self._asked.of(session) is plan

    def is_open(self, session: Session) -> bool:
        """Tells whether an answer is being looked for."""
        return self.purpose in session.open_jobs

    def ask(self, session: Session, answer: Answer, search: Callable[..., Any], *arguments: Any) -> bool:
        """Begins to look for the answer, if there is room for one more job; else says why not."""
        title = f"{answer.problem.name}: {self.purpose.replace('_', ' ')}"
        try:
            job = shared_jobs().submit(session.user, self.purpose, title, search, *arguments)
        except TooManyJobsError as error:
            st.warning(literal(str(error)))
            return False
        session.results.pop(self.purpose, None)
        self._asked.keep(session, answer.plan)
        begin(session, self.purpose, job, answer.problem)
        if self.is_open(session):
            st.rerun()  # the sidebar was drawn before there was this job to watch
        return True

    def found(self, session: Session, plan: Plan) -> Any:
        """Returns what was found for this plan, and says what went wrong with it; None: there is nothing."""
        found = session.results.get(self.purpose)
        if not self.was_asked(session, plan) or found is None:
            return None
        if found.why_not:
            st.warning(literal(found.why_not))
        return None if found.error else found.value
