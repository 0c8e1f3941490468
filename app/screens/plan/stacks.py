"""What people run services with, and which of a plan's forms that takes, in which order, and what it cannot hold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stack:
    """One way to run services. Its texts are Markdown."""

    name: str
    """As people call it."""
    slug: str
    """In the names of files."""
    formats: tuple[str, ...]
    """Of `sliceplan export`, in the order in which they are applied."""
    gives: str
    how: tuple[str, ...]
    """Steps to apply the files; what stands in braces, `steps.steps_for` fills in."""
    not_said: tuple[str, ...]
    """What of a plan it cannot hold."""


STACKS = (
    Stack(
        "Kubernetes with the GPU operator",
        "gpu-operator",
        ("mig-manager", "device-plugin", "node-labels", "deployments"),
        "A ConfigMap for the MIG manager, one for the device plugin where GPUs are shared by MPS, the labels that "
        "choose them, and a Deployment for each service.",
        (
            "`kubectl apply -n gpu-operator -f {path:mig-manager}`, then point the operator at it: "
            "`kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p "
            """'{"spec":{"mig":{"strategy":"mixed"},"migManager":{"config":{"name":"{named:mig-manager}"}}}}'`. """
            "The strategy `mixed`, for the whole cluster, is what offers each MIG size by its name.",
            "`kubectl apply -n gpu-operator -f {path:device-plugin}`, and likewise: "
            "`kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p "
            """'{"spec":{"devicePlugin":{"config":{"name":"{named:device-plugin}"}}}}'`.""",
            "`sh {path:node-labels}`: the MIG manager then cuts the GPUs. It stops the GPU clients that it knows, and "
            "drains no pods.",
            "When the nodes' label `nvidia.com/mig.config.state` is `success`: `kubectl apply -f {path:deployments}`.",
        ),
        (
            "Where instances start on a GPU: the MIG manager chooses, so layouts can differ.",
            "Several processes on one MIG instance, and unequal shares under MPS: take DRA for these.",
            "Weights between the replicas of a service: add a router.",
        ),
    ),
    Stack(
        "Kubernetes with DRA (dynamic resource allocation)",
        "dra",
        ("dra",),
        "ResourceClaimTemplates, and a Deployment for each service that claims from them.",
        (
            "Cut the GPUs first (by mig-parted or by scripts, two other choices above), or, where no claim shares by "
            "MPS, let the driver do it (DynamicMIG).",
            "`kubectl apply -f {path:dra/claims.yaml}`. Where container images are typed above, there is a Deployment "
            "for each service, too.",
            "`kubectl apply -f {path:dra/deployments.yaml}`.",
        ),
        (
            "Where instances start: a claim names a MIG size only.",
            "GPU types of the same compute capability in one cluster: add `productName` to the selectors.",
        ),
    ),
    Stack(
        "Plain Docker, or processes on the machines",
        "hosts",
        ("commands",),
        "A shell script for each node: it cuts the GPUs, starts the MPS daemons, and writes a file of variables for "
        "each partition that serves.",
        (
            "Read the script; on {node}, as root: `sh -eu {file}`. The GPUs must run nothing. Any other node has a "
            "script of its own.",
            "Start each service with its file of those that the script writes, the first of them so: "
            "`docker run --gpus all --ipc=host -v /run/sliceplan:/run/sliceplan "
            "--env-file {variables} IMAGE`, or as a unit with `EnvironmentFile=`.",
            "For plans that change while services run, `sliceplan-agent` does the same with a journal and a way back.",
        ),
        ("Images, ports and restarts of your services.", "Weights between the replicas of a service: add a router."),
    ),
    Stack(
        "sliceplan's own agent on the machines",
        "agent",
        ("json",),
        "The plan itself. The agent on each node cuts its GPUs and starts its services by it, step by step, with a way "
        "back to what was there before.",
        (
            "To see it at work without a GPU: `sliceplan-agent simulate node.json {gpus}`, then "
            "`sliceplan-agent apply --unsigned {file} --node {node} --device simulated:node.json --state state`.",
            "For real nodes, once: `sliceplan-agent keygen -o signer`. The key stays where plans are signed, "
            "`signer.pub` goes into the nodes' `trusted_keys`.",
            "`sliceplan sign {file} --key signer -o signed.json`, to where the nodes' `agent.yaml` looks for it.",
            "On each node: `sliceplan-agent apply --config agent.yaml` shows the steps, asks, and carries them out "
            "(with `--dry-run` it only shows them); `sliceplan-agent rollback --config agent.yaml` goes back.",
        ),
        ("How services are started, and where: that stands in the agent's own `agent.yaml`.",),
    ),
    Stack(
        "mig-parted on the machines",
        "mig-parted",
        ("mig-parted", "mig-parted-checkpoint"),
        "A configuration for each node (how many instances of which size), and a checkpoint with their very places.",
        (
            "On {node}, as root, for the very places: `nvidia-mig-parted restore -f {path:mig-parted-checkpoint}`.",
            "On {node}, as root, where the places may be any: "
            "`nvidia-mig-parted apply -f {path:mig-parted} -c {config:mig-parted}`.",
            "Then `nvidia-mig-parted assert -f {path:mig-parted} -c {config:mig-parted}`: apply has reported success "
            "where nothing was done. Any other node has files of its own.",
        ),
        ("Services, batch sizes and processes.", "Shares under MPS.", "In the configuration: where instances start."),
    ),
    Stack(
        "Triton Inference Server",
        "triton",
        ("triton",),
        "A config.pbtxt for each service and kind of partition: instances, batch size, queue delay.",
        (
            "Put each folder into the model repository of the server that runs on such a partition, beside the model.",
            "Add what the plan does not know: platform or backend, inputs and outputs; Triton fills them in itself for "
            "ONNX, TensorRT and others.",
        ),
        (
            "The partitions themselves: take the files of one of the other choices for these.",
            "Processes through MPS: Triton runs instances as threads of one process.",
        ),
    ),
    Stack(
        "A router: NGINX, HAProxy, Envoy, Istio or the Gateway API",
        "router",
        ("nginx", "haproxy", "envoy", "istio", "http-routes"),
        "The plan's rates as weights, so that each partition gets what it was planned for. Take the one that you run.",
        (
            "NGINX: include `{path:nginx}` in the `http` block.",
            "HAProxy: append `{path:haproxy}`.",
            "Envoy: name `{path:envoy}` as the path of `cds_config`.",
            "Istio: `kubectl apply -f {path:istio}`.",
            "Gateway API: `kubectl apply -f {path:http-routes}`.",
            "Give each partition's name an address, and each service a frontend.",
        ),
        ("Addresses, ports and paths.", "In the Gateway API and Istio: turns, as they deal at random."),
    ),
    Stack(
        "A spreadsheet, or a program of my own",
        "data",
        ("csv", "json"),
        "A row for each service on a partition, and the plan itself with all that is known of it.",
        ("Open the table; or read the plan by its format, which `docs/reference/plan-file.md` describes.",),
        (),
    ),
)

BY_NAME = "One format, by its name"
"""What is chosen instead of a stack."""
