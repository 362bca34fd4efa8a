"""Starting and signalling process trees; nothing here knows which server it is."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

__all__ = ["as_user", "is_alive", "is_root", "signal_tree", "spawn"]


def spawn(
    command: Sequence[str], environ: Mapping[str, str], directory: Path, log: Path, user: str = ""
) -> "subprocess.Popen[bytes]":
    """Start `command` in a session of its own, output appended to `log`; it is killed when the calling thread ends.

    `environ` is its whole environment besides PATH and a UTF-8 locale. `user`: run as this user (needs root).
    """
    whole = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **environ}
    with log.open("ab") as output:
        return subprocess.Popen(
            [*as_user(user), *_dying_with_us(), *command],
            env=whole,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def signal_tree(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process and all its descendants, parents first; those that are gone are passed over."""
    for one in [pid, *_descendants(pid)]:
        try:
            os.kill(one, number)
        except ProcessLookupError:
            continue


def is_alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return _after_name(Path(f"/proc/{pid}/stat"))[0] != "Z"
    except OSError:
        return False


def is_root() -> bool:
    """Whether this process may become another user."""
    return os.geteuid() == 0


def as_user(user: str) -> list[str]:
    """Words to put before a command so that it runs as `user`; none for ""."""
    return ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"] if user else []


def _dying_with_us() -> list[str]:
    # The kernel's parent-death signal works even when we are killed with SIGKILL; an atexit hook does not.
    return ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []


def _descendants(pid: int) -> Iterator[int]:
    # By parent, not by process group: PostgreSQL's backends and Erlang's ports leave the group that we made.
    children = _children_by_parent()
    waiting = [pid]
    while waiting:
        found = children.get(waiting.pop(0), [])
        waiting += found
        yield from found


def _children_by_parent() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(_after_name(status)[1])
        except OSError:  # ended while we looked
            continue
        children.setdefault(parent, []).append(int(status.parent.name))
    return children


def _after_name(status: Path) -> list[str]:
    """State, parent and so on: the fields of /proc/PID/stat after the name, which may hold spaces and parentheses."""
    return status.read_text(errors="replace").rpartition(")")[2].split()
