"""Pictures in and out. An image is an array of height × width × 3 bytes, blue first, as OpenCV has it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


def decode(png: bytes) -> Image:
    """ValueError where the bytes are no picture."""
    image = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR) if png else None
    if image is None:
        raise ValueError("not a picture")
    return np.asarray(image, np.uint8)


def size(png: bytes) -> tuple[int, int]:
    """Width and height, by what it says of itself. ValueError where it is no PNG."""
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("not a PNG")
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def encode(image: Image) -> bytes:
    done, data = cv2.imencode(".png", image)
    if not done:
        raise ValueError("the picture cannot be encoded")
    return bytes(data)


def common(a: Image, b: Image, fill: int = 255) -> tuple[Image, Image]:
    """Both on a canvas that holds either: pixels that only one has differ from `fill` or do not."""
    if a.shape == b.shape:
        return a, b
    height, width = max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1])
    out = []
    for image in (a, b):
        canvas = np.full((height, width, 3), fill, np.uint8)
        canvas[: image.shape[0], : image.shape[1]] = image
        out.append(canvas)
    return out[0], out[1]
