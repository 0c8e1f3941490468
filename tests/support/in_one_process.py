"""How tests are dealt to processes: by file, and those in the browser to few, for each has a browser and a server."""

from xdist.scheduler.loadfile import LoadFileScheduling

IN_THE_BROWSER = "tests/browser/"

OTHERS = 3
"""To each process with a browser so many run at least: the browser's tests take a third of all time."""


class InOneProcess(LoadFileScheduling):
    """
    Deals files as `--dist loadfile` does, but those in the browser to one process, or to one of three on many cores.

    What each process has of its own (a server with its workers, a browser that compiles the page's programs anew) costs
    as much CPU as five tests in it.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if not file.startswith(IN_THE_BROWSER):
            return file
        return f"{IN_THE_BROWSER}{sum(file.encode()) % max(len(self.nodes) // OTHERS, 1)}"
