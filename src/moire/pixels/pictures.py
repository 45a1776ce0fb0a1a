"""Pictures of differences, for people."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from .decode import Image, common

# What is the same is shown pale, so that what differs stands out.
PALE = 0.75
# Blue, green and red of a difference of one level, of a middling and of the largest; what lies between is mixed.
# The viewer's legend has the same.
SCALE = ((77, 184, 255), (42, 20, 230), (110, 0, 75))
_MARKS = np.stack([np.interp(np.arange(256), (1, 128, 255), channel) for channel in zip(*SCALE, strict=True)], 1)
_MARKS = np.rint(_MARKS).astype(np.uint8)
GAP = 8
# Round what is shown close up; how large that is to become, and by how many times at the most.
MARGIN, CLOSE_UP, LARGEST = 12, 320, 8
# How wide a thumbnail is.
SMALL = 160


def difference(a: Image, b: Image) -> Image:
    """The first picture, paled and grey, with every differing pixel marked by how much it is off."""
    a, b = common(a, b)
    worst = cv2.absdiff(a, b).max(axis=2)
    grey = cv2.cvtColor(a, cv2.COLOR_BGR2GRAY)
    pale = (255 - (255 - grey) * (1 - PALE)).astype(np.uint8)
    out = cv2.cvtColor(pale, cv2.COLOR_GRAY2BGR)
    differing = worst > 0
    out[differing] = _MARKS[worst[differing]]
    return np.asarray(out, np.uint8)


def close_up(a: Image, b: Image) -> Image:
    """Where they differ, and a little round it: the first, the second and the difference, enlarged if it is small."""
    a, b = common(a, b)
    rows, columns = np.nonzero(cv2.absdiff(a, b).max(axis=2))
    if not rows.size:
        return side_by_side([a, b, difference(a, b)])
    top, bottom = max(0, int(rows.min()) - MARGIN), int(rows.max()) + MARGIN + 1
    left, right = max(0, int(columns.min()) - MARGIN), int(columns.max()) + MARGIN + 1
    parts = [image[top:bottom, left:right] for image in (a, b, difference(a, b))]
    times = max(1, min(LARGEST, CLOSE_UP // max(parts[0].shape[:2])))
    return side_by_side([np.ascontiguousarray(part.repeat(times, 0).repeat(times, 1)) for part in parts])


def average(images: Sequence[Image]) -> Image:
    """All overlaid: where they agree the picture is sharp."""
    first = images[0]
    total = np.zeros(first.shape, np.float64)
    for image in images:
        total += common(first, image)[1][: first.shape[0], : first.shape[1]]
    return np.asarray(np.rint(total / len(images)), np.uint8)


def thumbnail(image: Image) -> Image:
    height, width = image.shape[:2]
    small = (SMALL, max(1, round(height * SMALL / width)))
    return np.asarray(cv2.resize(image, small, interpolation=cv2.INTER_AREA), np.uint8) if width > SMALL else image


def side_by_side(images: Sequence[Image]) -> Image:
    height = max(image.shape[0] for image in images)
    strips: list[Image] = []
    for image in images:
        if strips:
            strips.append(np.full((height, GAP, 3), 128, np.uint8))
        canvas = np.full((height, image.shape[1], 3), 255, np.uint8)
        canvas[: image.shape[0]] = image
        strips.append(canvas)
    return np.asarray(np.hstack(strips), np.uint8)


def stacked(images: Sequence[Image]) -> Image:
    """The same from top to bottom."""
    return np.asarray(side_by_side([image.transpose(1, 0, 2) for image in images]).transpose(1, 0, 2), np.uint8)
