"""Why a plan's lower limit holds, in words for who reads a report: the plan's file names the method for experts."""

NOT_RULED_OUT = "those that the search did not rule out cost at least this."

REASONS = (
    (
        "Lagrangian bound at the slice prices (solver/exact/dual/lagrangian_dual.py), with GPUs under MPS",
        "Each kind of partition has a price such that no way to cut a GPU is worth more than the GPU, and each service "
        "needs at least its cheapest partitions at these prices. Neighbours on a GPU never make a service faster.",
    ),
    (
        "Lagrangian bound at the slice prices",
        "Each kind of partition has a price such that no way to cut a GPU is worth more than the GPU, and each service "
        "needs at least its cheapest partitions at these prices.",
    ),
    (
        "count cuts",
        "Whatever partitions and shared GPUs are priced at, a plan's GPUs are worth no less than what its services "
        "need. For all whole numbers of GPUs that cost less, prices were found at which they are worth less.",
    ),
    (
        "no GPU that costs less holds all services",
        "No single GPU that costs less holds all services, however they are split.",
    ),
    (
        "dual bound of the MIG cutting stock with partitions that are kept free",
        f"Of all ways to cut the GPUs, with the partitions kept free that were settled beforehand, {NOT_RULED_OUT}",
    ),
    ("dual bound of the MIG cutting stock", f"Of all ways to cut the GPUs, {NOT_RULED_OUT}"),
    (
        "dual bound of the program over all sets of residents",
        f"Of all ways to fill GPUs, cut or shared, {NOT_RULED_OUT}",
    ),
    (
        "dual bound of the fluid relaxation",
        "The services would cost this much even if their rates could be split in any way and neighbours slowed nobody.",
    ),
    (
        "Lagrangian bound of generated columns",
        "Each service's work has a value such that no services that fit a GPU together are worth more than the GPU "
        "costs. The limit is the value of all the work.",
    ),
    (
        "Lagrangian bound at the prices of whole services",
        "Each service has a value such that no services that keep their SLOs on a GPU together are worth more than the "
        "GPU costs. The limit is the value of all services.",
    ),
    (
        "dual bound of the program over all sets that a cheaper plan",
        f"Of all ways to fill GPUs that a cheaper plan could use, {NOT_RULED_OUT}",
    ),
    (
        "most weighted requests/s of the cutting stock",
        "Each kind of partition has a price, and the GPUs that there are can be cut into no more than this at these "
        "prices, less what the rates ask for; or a search of all ways to cut them ruled out that any could carry more.",
    ),
    (
        "most weighted requests/s of any contents of GPUs",
        "Each request/s and each place of a service has a price, and nothing that could stand on a GPU, cut or shared, "
        "is worth more than was found possible at these prices: neighbours never make a service faster.",
    ),
    ("cheapest solution of the interval formulation", "A search of all plans by other means found none cheaper."),
    (
        "linear program of services alone on measured shares",
        "The services would cost this much even if each had its share of a GPU to itself, which turns cannot beat.",
    ),
    (
        "least share of a partition's time that each service needs",
        "Each service needs a part of the time of a partition, however services take turns there, and each kind of "
        "partition has a price such that no way to divide a GPU is worth more than the GPU.",
    ),
    (
        "integer program over all divisions and contents of shares",
        f"Of all ways to divide the GPUs and to fill what they are divided into, {NOT_RULED_OUT}",
    ),
    (
        "MIG-serving's lower bound",
        "Each service would run on the partition size that carries most for its part of a GPU, even if such partitions "
        "did not fit together.",
    ),
)
"""How the method begins that a plan states, the longer beginnings first, and what that means."""

BY_OTHERS = "The planner states it; the plan's file says by what method."


def why_the_limit_holds(method: str) -> str:
    """Returns in sentences why no plan costs less than a limit, from what `bound.method` of a plan says."""
    return next((said for begins, said in REASONS if method.startswith(begins)), BY_OTHERS)
