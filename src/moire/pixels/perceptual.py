"""The perceptual hash that R2Z2 compares by, equal bit for bit to `imagehash.phash`.

Grey, shrunk to four times the hash size by Lanczos, a cosine transform, and one bit for each low
frequency: above the median or not. Many frequencies of a web page are zero but for rounding, and
their bits hang on that rounding, so each step here gives the very numbers that Pillow and SciPy
give: the shrinking in Pillow's fixed point, the transform in SciPy's double precision.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from .decode import Image

HASH_SIZE = 64
HIGH_FREQUENCY_FACTOR = 4
# Pillow's fixed point for 8-bit pixels.
PRECISION_BITS = 22
LANCZOS_SUPPORT = 3.0
# Outputs are computed in strips this wide, so that each strip multiplies only the inputs it uses.
STRIP = 32
# Single precision is off by less than this before rounding; what lies nearer to a half is computed
# again in whole numbers.
DOUBT = 2e-3

Bits = NDArray[np.bool_]


def phash(image: Image, hash_size: int = HASH_SIZE) -> Bits:
    side = hash_size * HIGH_FREQUENCY_FACTOR
    small = shrink(grey(image), side)
    # Only the low frequencies are asked for, and each row's transform is its own.
    columns = scipy.fft.dct(small.astype(np.float64), axis=0)[:hash_size]
    low = scipy.fft.dct(columns, axis=1)[:, :hash_size]
    bits: Bits = low > np.median(low)
    return bits


def distance(a: Bits, b: Bits) -> int:
    """How many bits differ."""
    return int(np.count_nonzero(a != b))


def grey(image: Image) -> NDArray[np.uint8]:
    """ITU-R 601 luma in 16 bits of fixed point. Every sum is a whole number below 2²⁴, so single
    precision holds it exactly."""
    weights = np.array([7471, 38470, 19595], np.float32)
    total = image.astype(np.float32) @ weights
    total += 32768
    return (total.astype(np.int32) >> 16).astype(np.uint8)


@cache
def _taps(size: int, side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each output, its first input and its whole-number weights, as Pillow rounds them."""
    scale = size / side
    stretch = max(scale, 1.0)
    support = LANCZOS_SUPPORT * stretch
    count = math.ceil(support) * 2 + 1
    first = np.zeros(side, np.int64)
    weights = np.zeros((side, count), np.int64)
    for out in range(side):
        centre = (out + 0.5) * scale
        low = max(int(centre - support + 0.5), 0)
        high = min(int(centre + support + 0.5), size)
        values = [_lanczos((x - centre + 0.5) / stretch) for x in range(low, high)]
        total = sum(values)
        for i, value in enumerate(values):
            share = value / total * (1 << PRECISION_BITS)
            weights[out, i] = int(share - 0.5) if share < 0 else int(share + 0.5)
        first[out] = min(low, size - count) if size >= count else 0
        if size >= count and first[out] != low:
            weights[out] = np.roll(weights[out], low - first[out])
        elif size < count:
            weights[out] = np.roll(weights[out], low)
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
    count = min(weights.shape[1], size)
    strips = []
    for a in range(0, side, STRIP):
        b = min(a + STRIP, side)
        low, high = int(first[a]), int(first[b - 1]) + count
        matrix = np.zeros((high - low, b - a), np.float32)
        for out in range(a, b):
            start = int(first[out]) - low
            matrix[start : start + count, out - a] = weights[out, :count] / (1 << PRECISION_BITS)
        strips.append((a, b, low, high, matrix))
    return tuple(strips)


def shrink(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Pillow's `resize((side, side), LANCZOS)` of a grey picture: across first, then down."""
    if image.shape[1] != side:
        image = _across(image, side)
    if image.shape[0] != side:
        image = _across(np.ascontiguousarray(image.T), side).T
    return image


def _across(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Rows that repeat the one above (most of a web page) are computed once."""
    rows, size = image.shape
    fresh = np.ones(rows, np.bool_)
    fresh[1:] = (image[1:] != image[:-1]).any(axis=1)
    unique = image[fresh]
    inputs = unique.astype(np.float32)
    out = np.empty((len(unique), side), np.float32)
    for a, b, low, high, matrix in _strips(size, side):
        np.matmul(inputs[:, low:high], matrix, out=out[:, a:b])
    whole = np.floor(out + 0.5)
    doubtful = np.abs(out - whole + 0.5) < DOUBT
    doubtful |= np.abs(out - whole - 0.5) < DOUBT
    result = np.clip(whole, 0, 255).astype(np.uint8)
    ys, xs = np.nonzero(doubtful)
    if len(ys):
        first, weights = _taps(size, side)
        count = min(weights.shape[1], size)
        taken = unique[ys[:, None], first[xs][:, None] + np.arange(count)].astype(np.int64)
        exact = ((taken * weights[xs, :count]).sum(axis=1) + (1 << (PRECISION_BITS - 1))) >> PRECISION_BITS
        result[ys, xs] = np.clip(exact, 0, 255)
    repeated: NDArray[np.uint8] = result[np.cumsum(fresh) - 1]
    return repeated
