"""What `lscpu -p` prints on hosts that number their CPUs in one way or another."""

COMMENT = "# The following is the parsable format, which can be fed to other\n# programs.\n"
OLD = "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n"
NEW = "# CPU,Core,Socket,Node,L1d:L1i:L2:L3\n"


def lscpu(sockets=2, cores=96, domain=8, threads=2, nodes=1, *, sockets_in_turns=False, new=False):
    """
    Returns the text, and (socket, core of the socket) -> its CPUs.

    Second threads are numbered last; with `sockets_in_turns` even CPUs are those of socket 0, and so on.
    """
    rows, owned = [], {}
    for thread in range(threads):
        for number in range(sockets * cores):
            socket, core = (number % sockets, number // sockets) if sockets_in_turns else divmod(number, cores)
            cpu = thread * sockets * cores + number
            owned.setdefault((socket, core), []).append(cpu)
            whole, l3 = socket * cores + core, (socket * cores + core) // domain
            caches = f"{whole}:{whole}:{whole}:{l3}" if new else f",{whole},{whole},{whole},{l3}"
            rows.append(f"{cpu},{whole},{socket},{socket * nodes + core // (cores // nodes)},{caches}")
    return COMMENT + (NEW if new else OLD) + "\n".join(rows) + "\n", owned
