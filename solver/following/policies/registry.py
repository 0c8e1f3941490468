"""All policies by name."""

from ...model.errors import Finding, InputError
from ...model.parsing import closest
from .fixed import Fixed
from .foreseen import Foreseen
from .gpulets import GpuLets
from .peak import Peak
from .policy import Policy

POLICIES: dict[str, Policy] = {policy.name: policy for policy in (Fixed(), Peak(), GpuLets(), Foreseen())}


def policy_named(name: str) -> Policy:
    """Returns a policy; InputError with those that there are."""
    if name not in POLICIES:
        raise InputError([Finding("--policy", name, f"is no policy. {closest(name, POLICIES)}")])
    return POLICIES[name]
