"""
Labels of services where a target has free text: beside the name, in annotations and comments, never in its place.

What people type ends up in files that other programs read, so each kind of text has its own escape. A label is one
line (model/visible.py); that is seen to here once more, as a plan may be made without being read from a file. Files are
often put through a template engine first (Helm, Jinja, envsubst), which looks into comments and quoted texts too: what
would begin one of their expressions is told apart from it, in comments by a space, in YAML by an escape that reads back
as it was (`Typed`). Comments are the same everywhere (`in_comment`, model/labels.py).
"""

from ...model.errors import printable
from ...model.labels import apart
from ...model.plan import Plan
from .kubernetes_names import LABEL, WORKLOAD
from .yaml_text import Typed


def annotations_of(plan: Plan, workload: str) -> dict[str, str]:
    """Returns the annotations that say which service an object of Kubernetes is of."""
    label = plan.labels.get(workload)
    return {WORKLOAD: workload, **({} if label is None else {LABEL: Typed(printable(label))})}


def in_unit(label: str) -> str:
    """Returns a label for a value of a systemd unit, where `%` begins a specifier (systemd.unit(5))."""
    return apart(label).replace("%", "%%")
