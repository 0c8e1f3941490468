"""The formats that plans can be exported to; adding one is adding a module and a row here."""

from ...model.plan import Plan
from ..plan_files import dump_plan
from .csv_table import export_csv
from .deployments import export_deployments
from .device_plugin import export_device_plugin
from .dra_claims import export_dra_claims
from .mig_manager import export_mig_manager
from .mig_parted_checkpoint import export_mig_parted_checkpoint
from .mig_parted_config import export_mig_parted_config
from .node_labels import export_node_labels
from .target import Export, Options, Target
from .triton import export_triton


def _plan_itself(plan: Plan, options: Options) -> Export:  # noqa: ARG001
    return Export({f"{plan.problem.name}.plan.json": dump_plan(plan)})


TARGETS = {
    target.name: target
    for target in (
        Target("json", "the plan itself", _plan_itself),
        Target("mig-parted", "mig-parted config, one a node: counts only", export_mig_parted_config),
        Target("mig-parted-checkpoint", "for `nvidia-mig-parted restore`: placements", export_mig_parted_checkpoint),
        Target("node-labels", "kubectl lines that select a node's configurations", export_node_labels),
        Target("mig-manager", "the MIG manager's ConfigMap: counts only", export_mig_manager),
        Target("device-plugin", "the device plugin's ConfigMap: equal MPS shares", export_device_plugin),
        Target("deployments", "Kubernetes Deployments on what the plugin offers", export_deployments),
        Target("triton", "a config.pbtxt a model; takes --problem", export_triton),
        Target("csv", "a table, a row for each partition that serves", export_csv),
        Target("dra", "DRA claims; with --image, Deployments too", export_dra_claims),
    )
}
