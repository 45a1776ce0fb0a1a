"""The perceptual hash that R2Z2 compares by, equal bit for bit to `imagehash.phash`.

Grey, shrunk to four times the hash size by Lanczos, a cosine transform, and one bit for each low
frequency: above the median or not. Many frequencies of a web page are zero but for rounding, and
their bits hang on that rounding, so each step here gives the very numbers that Pillow and SciPy
give: the shrinking in Pillow's fixed point, the transform in SciPy's double precision.
"""

from __future__ import annotations

import math
from functools import cache

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray
from PIL import Image as Pillow

from .decode import Image

HASH_SIZE = 64
HIGH_FREQUENCY_FACTOR = 4
# Pillow's fixed point for 8-bit pixels.
PRECISION_BITS = 22
LANCZOS_SUPPORT = 3.0
# SciPy transforms this many lines at once at the most, and those left over in other steps with other
# rounding: what is cut off must leave whole groups.
LANES = 16
# Outputs are computed in strips this wide, so that each strip multiplies only the inputs it uses.
STRIP = 32
# Single precision is off by less than this before rounding; what lies nearer to a half is computed
# again in whole numbers.
DOUBT = 2e-3

Bits = NDArray[np.bool_]


def phash(image: Image, hash_size: int = HASH_SIZE) -> Bits:
    side = hash_size * HIGH_FREQUENCY_FACTOR
    if image.shape[0] > image.shape[1]:
        return _frequencies(_shrunk_by_pillow(image, side), hash_size)
    # Most rows of a web page repeat the one above: they are turned grey and shrunk across once.
    fresh = _fresh_rows(image)
    across = shrink_across(grey(image[fresh]), side)
    small = shrink_across(np.ascontiguousarray(across[np.cumsum(fresh) - 1].T), side).T
    return _frequencies(small, hash_size)


def _shrunk_by_pillow(image: Image, side: int) -> NDArray[np.uint8]:
    """For pictures taller than wide, where Pillow decides by its own lights which way to shrink first."""
    whole = Pillow.fromarray(grey(np.ascontiguousarray(image)))
    return np.asarray(whole.resize((side, side), Pillow.Resampling.LANCZOS))


def _frequencies(small: NDArray[np.uint8], hash_size: int) -> Bits:
    # Only the low frequencies are asked for, and each line's transform is its own.
    lines = -(-hash_size // LANES) * LANES
    columns = scipy.fft.dct(small.astype(np.float64), axis=0)[:lines]
    low = scipy.fft.dct(columns, axis=1)[:hash_size, :hash_size]
    bits: Bits = low > np.median(low)
    return bits


def _fresh_rows(image: Image) -> Bits:
    """Which rows differ from the one above."""
    rows = image.reshape(len(image), -1)
    if rows.shape[1] % 8 == 0 and rows.flags.c_contiguous:
        rows = rows.view(np.uint64)
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return fresh


def distance(a: Bits, b: Bits) -> int:
    """How many bits differ."""
    return int(np.count_nonzero(a != b))


def grey(image: Image) -> NDArray[np.uint8]:
    """ITU-R 601 luma in 16 bits of fixed point, as Pillow has it. Every sum is a whole number below
    2²⁴, so single precision holds it exactly."""
    result = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), np.uint8)
    # OpenCV keeps one bit less of the weights, which tells only where blue and red are unequal.
    pixels = image.reshape(-1, 3)
    uneven = np.flatnonzero(pixels[:, 0] != pixels[:, 2])
    if len(uneven):
        sums = pixels[uneven].astype(np.float32) @ np.array([7471, 38470, 19595], np.float32)
        result.reshape(-1)[uneven] = (sums.astype(np.int32) + 32768) >> 16
    return result


@cache
def _taps(size: int, side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each output, its first input and its whole-number weights, as Pillow rounds them."""
    scale = size / side
    stretch = max(scale, 1.0)
    support = LANCZOS_SUPPORT * stretch
    count = min(math.ceil(support) * 2 + 1, size)
    first = np.zeros(side, np.int64)
    weights = np.zeros((side, count), np.int64)
    for out in range(side):
        centre = (out + 0.5) * scale
        low = max(int(centre - support + 0.5), 0)
        high = min(int(centre + support + 0.5), size)
        values = [_lanczos((x - centre + 0.5) * (1.0 / stretch)) for x in range(low, high)]
        total = 0.0
        for value in values:
            total += value
        # Every output has the same number of weights, so near the right edge they start earlier.
        first[out] = min(low, size - count)
        for i, value in enumerate(values, start=low - int(first[out])):
            share = (value / total if total else value) * (1 << PRECISION_BITS)
            weights[out, i] = int(share - 0.5) if share < 0 else int(share + 0.5)
    return first, weights


def _lanczos(x: float) -> float:
    if not -LANCZOS_SUPPORT <= x < LANCZOS_SUPPORT:
        return 0.0
    return _sinc(x) * _sinc(x / LANCZOS_SUPPORT)


def _sinc(x: float) -> float:
    return 1.0 if x == 0 else math.sin(x * math.pi) / (x * math.pi)


@cache
def _strips(size: int, side: int) -> tuple[tuple[int, int, int, int, NDArray[np.float32]], ...]:
    """The weights as small dense matrices: outputs a to b from inputs low to high."""
    first, weights = _taps(size, side)
    count = weights.shape[1]
    strips = []
    for a in range(0, side, STRIP):
        b = min(a + STRIP, side)
        low, high = int(first[a]), int(first[b - 1]) + count
        matrix = np.zeros((high - low, b - a), np.float32)
        for out in range(a, b):
            start = int(first[out]) - low
            matrix[start : start + count, out - a] = weights[out] / (1 << PRECISION_BITS)
        strips.append((a, b, low, high, matrix))
    return tuple(strips)


def shrink_across(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """One pass of Pillow's `resize` by Lanczos: each row of a grey picture to `side` pixels."""
    size = image.shape[1]
    if size == side:
        return image
    inputs = image.astype(np.float32)
    out = np.empty((len(image), side), np.float32)
    for a, b, low, high, matrix in _strips(size, side):
        out[:, a:b] = inputs[:, low:high] @ matrix
    result: NDArray[np.uint8] = np.asarray(cv2.add(out, np.zeros(1), dtype=cv2.CV_8U), np.uint8)
    # OpenCV rounds halves to even and Pillow up, and single precision may be off by a little: only
    # what lies that near to a half can be wrong.
    off = np.abs(out - result)
    doubtful = np.flatnonzero(np.abs(off - 0.5) < DOUBT)
    if len(doubtful):
        ys, xs = np.divmod(doubtful, side)
        first, weights = _taps(size, side)
        taken = image[ys[:, None], first[xs][:, None] + np.arange(weights.shape[1])].astype(np.int64)
        exact = ((taken * weights[xs]).sum(axis=1) + (1 << (PRECISION_BITS - 1))) >> PRECISION_BITS
        result[ys, xs] = np.clip(exact, 0, 255)
    return result
