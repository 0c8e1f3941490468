"""What people call the forms that a plan is exported to; the command line and files have the names of the registry."""

FORMAT_NAMES = {
    "json": "Plan file",
    "csv": "Table (CSV)",
    "mig-parted": "mig-parted configuration",
    "mig-parted-checkpoint": "mig-parted checkpoint",
    "node-labels": "Node labels",
    "mig-manager": "MIG manager ConfigMap",
    "device-plugin": "Device plugin ConfigMap",
    "deployments": "Kubernetes Deployments",
    "dra": "DRA claims",
    "triton": "Triton model configurations",
    "http-routes": "Gateway API routes",
    "nginx": "NGINX upstreams",
    "haproxy": "HAProxy backends",
    "envoy": "Envoy clusters",
    "istio": "Istio routes",
    "systemd-cores": "systemd units for CPU cores",
    "docker-cores": "Docker commands for CPU cores",
    "kubernetes-cores": "Kubernetes Deployments for CPU cores",
    "commands": "Shell script for each node",
}
"""Name in the registry -> what it is called."""


def format_name(name: str) -> str:
    """Returns what people call a form; of one that an extension adds, its name."""
    return FORMAT_NAMES.get(name, name)
