"""What people run services with, and which of a plan's forms that takes, in which order, and what it cannot hold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One step to apply files; what stands in braces, `steps.steps_for` fills in."""

    text: str
    """Markdown."""
    commands: tuple[str, ...] = ()
    """For a shell, to copy."""


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
    how: tuple[Step, ...]
    not_said: tuple[str, ...]
    """What of a plan it cannot hold, each in a line."""


STACKS = (
    Stack(
        "Kubernetes with the GPU operator",
        "gpu-operator",
        ("mig-manager", "device-plugin", "node-labels", "deployments"),
        "A ConfigMap for the MIG manager, one for the device plugin where GPUs are shared by MPS, the node labels that "
        "choose them, and a Deployment for each service.",
        (
            Step(
                "Create the MIG manager's ConfigMap and point the operator at it. The strategy `mixed`, for the whole "
                "cluster, offers each MIG size by its name.",
                (
                    "kubectl apply -n gpu-operator -f {path:mig-manager}",
                    "kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p "
                    """'{"spec":{"mig":{"strategy":"mixed"},"migManager":{"config":{"name":"{named:mig-manager}"}}}}'""",
                ),
            ),
            Step(
                "Create the device plugin's ConfigMap and point the operator at it.",
                (
                    "kubectl apply -n gpu-operator -f {path:device-plugin}",
                    "kubectl patch clusterpolicies.nvidia.com/cluster-policy --type merge -p "
                    """'{"spec":{"devicePlugin":{"config":{"name":"{named:device-plugin}"}}}}'""",
                ),
            ),
            Step(
                "Label the nodes. The MIG manager then cuts their GPUs: it stops the GPU clients that it knows, and "
                "does not drain pods.",
                ("sh {path:node-labels}",),
            ),
            Step(
                "Once the label `nvidia.com/mig.config.state` of each node says `success`, start the services.",
                ("kubectl apply -f {path:deployments}",),
            ),
        ),
        (
            "Where instances start on a GPU: the MIG manager decides, so layouts can differ.",
            "Several processes on one MIG instance, and unequal shares under MPS: use DRA for these.",
            "Weights between the replicas of a service: add a router.",
        ),
    ),
    Stack(
        "Kubernetes with DRA (dynamic resource allocation)",
        "dra",
        ("dra",),
        "ResourceClaimTemplates, and a Deployment for each service that claims from them.",
        (
            Step(
                "Cut the GPUs (with mig-parted or shell scripts, two other choices above); where no claim shares by "
                "MPS, the driver can do it instead (DynamicMIG)."
            ),
            Step("Create the claim templates.", ("kubectl apply -f {path:dra/claims.yaml}",)),
            Step("Start the services.", ("kubectl apply -f {path:dra/deployments.yaml}",)),
        ),
        (
            "Where instances start: a claim names only a MIG size.",
            "GPU types of the same compute capability in one cluster: add `productName` to the selectors.",
        ),
    ),
    Stack(
        "Plain Docker, or processes on the machines",
        "hosts",
        ("commands",),
        "A shell script for each node: it cuts the GPUs, starts the MPS daemons, and writes a file of environment "
        "variables for each partition that serves.",
        (
            Step(
                "Read the script, then run it on {node} as root, while nothing uses the GPUs. Every other node has a "
                "script of its own.",
                ("sh -eu {file}",),
            ),
            Step(
                "Start each service with its environment file from the script. The first one, with Docker (in a "
                "systemd unit it is `EnvironmentFile=`):",
                ("docker run --gpus all --ipc=host -v /run/sliceplan:/run/sliceplan --env-file {variables} IMAGE",),
            ),
        ),
        (
            "Images, ports and restarts of your services.",
            "Weights between the replicas of a service: add a router.",
            "Changes while services run: `sliceplan-agent` does the same step by step, and can go back.",
        ),
    ),
    Stack(
        "sliceplan's own agent on the machines",
        "agent",
        ("json",),
        "The plan itself. The agent on each node cuts its GPUs and starts its services from it, step by step, and can "
        "go back to what was there before.",
        (
            Step(
                "To try it without a GPU, on a simulated node:",
                (
                    "sliceplan-agent simulate node.json {gpus}",
                    "sliceplan-agent apply --unsigned {file} --node {node} --device simulated:node.json --state state",
                ),
            ),
            Step(
                "For real nodes, make a key once. The key stays where plans are signed; `signer.pub` goes into the "
                "nodes' `trusted_keys`.",
                ("sliceplan-agent keygen -o signer",),
            ),
            Step(
                "Sign the plan, and put it where the nodes' `agent.yaml` looks for it.",
                ("sliceplan sign {file} --key signer -o signed.json",),
            ),
            Step(
                "On each node, apply it. The agent shows the steps, asks, and carries them out; with `--dry-run` it "
                "only shows them.",
                ("sliceplan-agent apply --config agent.yaml",),
            ),
            Step("To go back:", ("sliceplan-agent rollback --config agent.yaml",)),
        ),
        ("How and where services are started: that is in the agent's own `agent.yaml`.",),
    ),
    Stack(
        "mig-parted on the machines",
        "mig-parted",
        ("mig-parted", "mig-parted-checkpoint"),
        "A configuration for each node (how many instances of which size), and a checkpoint with their exact places.",
        (
            Step(
                "On {node}, as root, for the exact places:",
                ("nvidia-mig-parted restore -f {path:mig-parted-checkpoint}",),
            ),
            Step(
                "On {node}, as root, if instances may start anywhere:",
                ("nvidia-mig-parted apply -f {path:mig-parted} -c {config:mig-parted}",),
            ),
            Step(
                "Check the result, as apply has reported success where nothing was done. Every other node has files "
                "of its own.",
                ("nvidia-mig-parted assert -f {path:mig-parted} -c {config:mig-parted}",),
            ),
        ),
        ("Services, batch sizes and processes.", "Shares under MPS.", "In the configuration: where instances start."),
    ),
    Stack(
        "Triton Inference Server",
        "triton",
        ("triton",),
        "A config.pbtxt for each service and kind of partition: instances, batch size, queue delay.",
        (
            Step(
                "Put each folder into the model repository of the server that runs on such a partition, beside the "
                "model."
            ),
            Step(
                "Add what the plan does not know: platform or backend, inputs and outputs. For ONNX, TensorRT and "
                "some others Triton fills them in itself."
            ),
        ),
        (
            "The partitions themselves: another choice above has files for these.",
            "Processes through MPS: Triton runs instances as threads of one process.",
        ),
    ),
    Stack(
        "A router: NGINX, HAProxy, Envoy, Istio or the Gateway API",
        "router",
        ("nginx", "haproxy", "envoy", "istio", "http-routes"),
        "The plan's rates as weights, so that each partition gets the traffic that it was planned for. Use the file "
        "for your router.",
        (
            Step("NGINX: include `{path:nginx}` in the `http` block."),
            Step("HAProxy: append `{path:haproxy}`."),
            Step("Envoy: set `{path:envoy}` as the path of `cds_config`."),
            Step("Istio:", ("kubectl apply -f {path:istio}",)),
            Step("Gateway API:", ("kubectl apply -f {path:http-routes}",)),
            Step("Give each partition's name an address, and each service a frontend."),
        ),
        ("Addresses, ports and paths.", "For the Gateway API and Istio: turns, because they deal at random."),
    ),
    Stack(
        "A spreadsheet, or a program of my own",
        "data",
        ("csv", "json"),
        "A row for each service on a partition, and the plan itself with everything that is known of it.",
        (Step("Open the table, or read the plan file; `docs/reference/plan-file.md` describes its format."),),
        (),
    ),
)

BY_NAME = "A single format"
"""What is chosen instead of a stack."""
