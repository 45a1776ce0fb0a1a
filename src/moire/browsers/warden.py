"""Ends what Moire started when Moire itself is gone, however it went.

Run as a script in a session of its own: `warden.py FOLDER MARKER`. Standard input is a pipe whose
other end only Moire holds, so its end of file is Moire's end. Lines on it are process groups to
know of: `+PGID` and `-PGID`. At the end of file every group, and every process that carries MARKER
in its environment (one that left its group, or was started a moment before Moire died), is killed,
and FOLDER is removed.

It must start fast and outlive anything, so it imports nothing but the standard library's core.
"""

import os
import shutil
import signal
import sys
import time

# Killing is asynchronous and a dying browser may still write into its profile; this many rounds of
# 20 ms stay well inside the five seconds promised for a clean end.
ROUNDS = 150
GENTLE_ROUNDS = 10


def marked(marker: bytes) -> list[int]:
    """Every process that carries the marker in its environment."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if marker in file.read():
                    found.append(int(entry))
        except OSError:
            continue
    return found


def clean(groups: set[int], folder: str, marker: bytes) -> None:
    for turn in range(ROUNDS):
        alive = False
        # Asked first, so that an X server takes its lock and socket with it; told a moment later.
        blow = signal.SIGTERM if turn < GENTLE_ROUNDS else signal.SIGKILL
        for group in groups:
            try:
                os.killpg(group, blow)
                alive = True
            except OSError:
                continue
        for pid in marked(marker):
            try:
                os.kill(pid, blow)
                alive = True
            except OSError:
                continue
        shutil.rmtree(folder, ignore_errors=True)
        if not alive and not os.path.exists(folder):
            return
        # The processes belong to nobody any more: there is no event to wait for.
        time.sleep(0.02)


def main() -> None:
    folder, marker = sys.argv[1:]
    groups: set[int] = set()
    for line in sys.stdin:
        known = groups.add if line[0] == "+" else groups.discard
        known(int(line[1:]))
    clean(groups, folder, marker.encode())


if __name__ == "__main__":
    main()
