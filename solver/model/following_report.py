"""What policies that follow rates cost and miss; how the figures are found is in solver/following."""

from pydantic import Field

from .base import Record, ServiceName


class FollowedService(Record):
    """One service under one policy."""

    workload: ServiceName
    requests: int = Field(ge=0)
    late: int = Field(ge=0, description="requests beyond the SLO")
    latest_period: float = Field(ge=0, le=1, description="greatest share of late requests in a period")


class Followed(Record):
    """One policy."""

    policy: str
    plans: int = Field(ge=0, description="plans that served; 0: there was none to begin with")
    refused: int = Field(ge=0, description="how often there was no plan for what the policy asked for")
    usd: float = Field(ge=0, description="GPUs of all periods; while a plan is loaded, of the dearer one")
    gpu_hours: float = Field(ge=0)
    most_gpus: int = Field(ge=0)
    late: float | None = Field(ge=0, le=1, description="share of all requests beyond their SLOs; null: no plan")
    services: tuple[FollowedService, ...]


class FollowingReport(Record):
    """Policies side by side on the same requests."""

    problem: str
    planner: str
    seconds: float = Field(gt=0, description="whole periods that the requests cover")
    period_s: float = Field(gt=0)
    requests: int = Field(ge=0)
    policies: tuple[Followed, ...]
    not_run: tuple[str, ...] = Field(default=(), description="policies that an interruption came before")
