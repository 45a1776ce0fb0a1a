"""Our perceptual hash against `imagehash.phash`, on pictures of real pages, with equal results."""

from __future__ import annotations

import asyncio
import os
import statistics
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import imagehash
import numpy as np
from PIL import Image

from moire.browsers.lab import Lab
from moire.nouns import Shot
from moire.pages.simple import page
from moire.pixels import decode
from moire.pixels.perceptual import phash

from .common import Row, build, row

ROUNDS = 5


async def shots(count: int) -> list[bytes]:
    target = build("chromium@156")
    async with Lab([target]) as lab:
        outcomes = await asyncio.gather(*(lab.shoot(target, page(n, 2000), "fast") for n in range(count)))
    return [outcome.png for outcome in outcomes if isinstance(outcome, Shot)]


def run() -> list[Row]:
    images = [decode(png) for png in asyncio.run(shots(60))]
    pillows = [Image.fromarray(np.ascontiguousarray(image[:, :, ::-1])) for image in images]
    equal = sum(
        np.array_equal(phash(image), imagehash.phash(pillow, 64).hash)
        for image, pillow in zip(images, pillows, strict=True)
    )
    theirs, ours = [], []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for pillow in pillows:
            imagehash.phash(pillow, 64)
        middle = time.perf_counter()
        for image in images:
            phash(image)
        theirs.append(middle - begun)
        ours.append(time.perf_counter() - middle)
    ratio = statistics.median(t / o for t, o in zip(theirs, ours, strict=True))
    each = statistics.median(ours) / len(images) * 1e3
    return [row("own pHash ÷ imagehash.phash", ratio, "5", equal=f"{equal} of {len(images)}", milliseconds=each)]
