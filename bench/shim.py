#!/usr/bin/env python3
"""A Chromium that is not quite itself: it starts the real one and says a few things to every page before anyone else.

MOIRE_SHIM is JSON: `program`, the real one, and `calls`, commands of the DevTools protocol for each tab.
"""

import json
import os
import subprocess
import sys
import threading

# Answers to our own commands are nobody else's.
OWN = 1_000_000_000


def messages(fd):
    buffer = b""
    while data := os.read(fd, 1 << 16):
        *whole, buffer = (buffer + data).split(b"\0")
        yield from whole


def main():
    told = json.loads(os.environ["MOIRE_SHIM"])
    (their_read, to_browser), (from_browser, their_write) = os.pipe(), os.pipe()

    def as_theirs():
        # First out of the way of the two numbers that they are to have.
        read, write = os.dup(their_read), os.dup(their_write)
        os.dup2(read, 3)
        os.dup2(write, 4)

    child = subprocess.Popen([told["program"], *sys.argv[1:]], preexec_fn=as_theirs, pass_fds=(3, 4))
    os.close(their_read)
    os.close(their_write)
    lock = threading.Lock()

    def send(message):
        with lock:
            os.write(to_browser, message + b"\0")

    def forward():
        for message in messages(3):
            send(message)
        os.close(to_browser)

    threading.Thread(target=forward, daemon=True).start()
    number = OWN
    for message in messages(from_browser):
        heard = json.loads(message)
        if heard.get("id", 0) >= OWN:
            continue
        session = heard.get("result", {}).get("sessionId")
        if session:
            for method, params in told["calls"]:
                number += 1
                call = {"id": number, "method": method, "params": params, "sessionId": session}
                send(json.dumps(call).encode())
        os.write(4, message + b"\0")
    sys.exit(child.wait())


main()
