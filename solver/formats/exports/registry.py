"""
The formats that plans can be exported to; adding one is adding a module with a function `export`, and a row here.

A module is loaded when it is used, so that the command line knows all names and starts at once.
"""

from importlib import import_module

from ...model.plan import Plan
from .target import Export, Exporter, Options, Target


def _lazy(module: str) -> Exporter:
    def export(plan: Plan, options: Options) -> Export:
        exporter: Exporter = import_module(f".{module}", __package__).export
        return exporter(plan, options)

    return export


def of_gpus(exporter: Exporter) -> Exporter:
    """Returns an exporter that takes the GPUs of a plan, and says that its CPUs are left."""

    def export(plan: Plan, options: Options) -> Export:
        from .planned_gpus import CPUS_APART, without_cpus

        gpus = without_cpus(plan)
        made = exporter(gpus, options)
        left = (CPUS_APART,) if len(gpus.gpus) < len(plan.gpus) else ()
        return Export(made.files, (*made.warnings, *left))

    return export


TARGETS = {
    target.name: target
    for target in (
        Target("json", "the plan itself", _lazy("plan_itself")),
        Target("mig-parted", "mig-parted config, one a node: counts only", of_gpus(_lazy("mig_parted_config"))),
        Target(
            "mig-parted-checkpoint",
            "for `nvidia-mig-parted restore`: placements",
            of_gpus(_lazy("mig_parted_checkpoint")),
        ),
        Target("node-labels", "kubectl lines that select a node's configurations", of_gpus(_lazy("node_labels"))),
        Target("mig-manager", "the MIG manager's ConfigMap: counts only", of_gpus(_lazy("mig_manager"))),
        Target("device-plugin", "the device plugin's ConfigMap: equal MPS shares", of_gpus(_lazy("device_plugin"))),
        Target("deployments", "Kubernetes Deployments on what the plugin offers", of_gpus(_lazy("deployments"))),
        Target("dra", "DRA claims; with --image, Deployments too", of_gpus(_lazy("dra_claims"))),
        Target("triton", "a config.pbtxt a model; takes --problem", _lazy("triton")),
        Target("http-routes", "HTTPRoutes with the plan's weights, and Services", _lazy("http_routes")),
        Target("nginx", "NGINX upstreams with the plan's weights", _lazy("nginx")),
        Target("haproxy", "HAProxy backends with the plan's weights", _lazy("haproxy")),
        Target("envoy", "Envoy clusters with the plan's weights", _lazy("envoy")),
        Target("istio", "Istio's VirtualServices with the plan's weights, and Services", _lazy("istio")),
        Target("systemd-cores", "systemd drop-ins with AllowedCPUs; takes --lscpu", _lazy("systemd_cores")),
        Target("docker-cores", "docker run with --cpuset-cpus; takes --lscpu, --image", _lazy("docker_cores")),
        Target(
            "kubernetes-cores",
            "kubelet's static CPU manager, guaranteed pods; takes --lscpu, --image, --memory",
            _lazy("kubernetes_cores"),
        ),
        Target("csv", "a table, a row for each partition that serves", _lazy("csv_table")),
    )
}
