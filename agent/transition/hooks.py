"""Commands after a success, as refreshing CDI and restarting the device plugin; from the agent's own configuration."""

import subprocess

from .session import Session

TIME_LIMIT_S = 120


def run_hooks(session: Session) -> None:
    """Runs each command without a shell; one that fails is reported, and undoes nothing."""
    for argv in session.hooks:
        session.say(f"Running {' '.join(argv)}")
        try:
            done = subprocess.run(
                list(argv), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            session.say(f"  failed: {error}")
            continue
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            session.say(f"  failed with exit code {done.returncode}{': ' + lines[-1] if lines else ''}")
