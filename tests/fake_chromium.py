#!/usr/bin/env python3
"""A scripted Chromium for faults that a real one cannot show on demand.

Speaks just enough of the protocol on descriptors 3 and 4. What goes wrong is in MOIRE_FAKE:
`mute` never answers; `dies` ends at once; `wild` answers with rubbish; `first` ends at the first
screenshot ever asked of any process that shares MOIRE_FAKE_MEMORY, then behaves; `always` ends at
every screenshot; `floods` writes without end to stderr; `stubborn` ignores every signal it may.
"""

import base64
import json
import os
import signal
import struct
import sys
import zlib
from pathlib import Path

mode = os.environ.get("MOIRE_FAKE", "")


def png(width: int = 800, height: int = 600) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + b"\xff" * (width * 3)) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def answer(message: dict) -> dict:
    method = message["method"]
    if method == "Browser.getVersion":
        return {"product": "HeadlessChrome/1.2.3.4"}
    if method == "Target.createBrowserContext":
        return {"browserContextId": "context"}
    if method == "Target.createTarget":
        return {"targetId": "target"}
    if method == "Target.attachToTarget":
        return {"sessionId": "session"}
    if method == "Page.getFrameTree":
        return {"frameTree": {"frame": {"id": "frame", "loaderId": "loader"}}}
    if method == "Page.createIsolatedWorld":
        return {"executionContextId": 1}
    if method == "Runtime.evaluate":
        return {"result": {"value": True}}
    if method == "Page.navigate":
        return {"frameId": "frame", "loaderId": "loader"}
    if method == "Page.captureScreenshot":
        memory = Path(os.environ.get("MOIRE_FAKE_MEMORY", os.devnull))
        if mode == "always" or (mode == "first" and not memory.exists()):
            memory.touch()
            os._exit(3)
        return {"data": base64.b64encode(png()).decode()}
    return {}


def main() -> None:
    if "--version" in sys.argv:
        print("Chromium 1.2.3.4")
        return
    if mode == "dies":
        print("no such luck", file=sys.stderr)
        sys.exit(7)
    if mode == "stubborn":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if mode == "floods":
        for _ in range(20_000):
            sys.stderr.write("x" * 1000 + "\n")
    buffer = b""
    while data := os.read(3, 65536):
        *messages, buffer = (buffer + data).split(b"\0")
        for raw in messages:
            if mode == "mute":
                continue
            message = json.loads(raw)
            reply = {"id": message["id"], "result": answer(message)}
            if "sessionId" in message:
                reply["sessionId"] = message["sessionId"]
            os.write(4, b"{rubbish\0" if mode == "wild" else json.dumps(reply).encode() + b"\0")


main()
