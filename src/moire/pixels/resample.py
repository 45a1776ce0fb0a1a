"""Grey and small, by the very numbers of Pillow's `convert("L")` and `resize` with Lanczos.

Pillow works in whole numbers, so plain loops over whole numbers give its results exactly. They are
compiled, because a hunt hashes every page whose pictures are not equal in every byte.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TypeVar, cast

import cv2
import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Lines = NDArray[np.int32]
Function = TypeVar("Function", bound=Callable[..., object])

# Pillow's fixed point for 8-bit pixels.
PRECISION_BITS = 22
LANCZOS_SUPPORT = 3.0
# The loop over weights takes this many at once.
UNROLL = 4


def compiled(function: Function) -> Function:
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


def shrink(image: Bytes, side: int) -> Bytes:
    """A picture of three channels to a grey one of `side` by `side`."""
    rows = np.ascontiguousarray(image).reshape(len(image), -1)
    # Most rows of a web page repeat the one above: they are turned grey and shrunk across once.
    fresh, line = fresh_rows(rows.view(np.uint64) if rows.shape[1] % 8 == 0 else rows)
    across = weigh(transposed(grey(rows, fresh)), *_taps(image.shape[1], side))
    taken, weights = _taps(len(image), side)
    return weigh(transposed(across), line[taken], weights)


def transposed(image: Bytes) -> Bytes:
    return np.asarray(cv2.transpose(image), np.uint8)


@compiled
def fresh_rows(rows: NDArray[np.unsignedinteger]) -> tuple[Lines, Lines]:
    """The rows that differ from the one above, and for each row which of those it repeats."""
    fresh = np.empty(len(rows), np.int32)
    line = np.empty(len(rows), np.int32)
    found = 0
    for y in range(len(rows)):
        difference = rows[y, 0] ^ rows[y, 0]
        if y > 0:
            for x in range(rows.shape[1]):
                difference |= rows[y, x] ^ rows[y - 1, x]
        if y == 0 or difference != 0:
            fresh[found] = y
            found += 1
        line[y] = found - 1
    return fresh[:found], line


@compiled
def grey(rows: Bytes, fresh: Lines) -> Bytes:
    """ITU-R 601 luma in 16 bits of fixed point, of the rows asked for."""
    width = rows.shape[1] // 3
    out = np.empty((len(fresh), width), np.uint8)
    half, blue, green, red = np.int32(1 << 15), np.int32(7471), np.int32(38470), np.int32(19595)
    for k in range(len(fresh)):
        row, line = rows[fresh[k]], out[k]
        for x in range(width):
            line[x] = (row[3 * x] * blue + row[3 * x + 1] * green + row[3 * x + 2] * red + half) >> 16
    return out


@compiled
def weigh(source: Bytes, taken: Lines, weights: Lines) -> Bytes:
    """One pass: line `o` of the result is the weighted sum of the source's lines `taken[o]`."""
    out = np.empty((len(taken), source.shape[1]), np.uint8)
    total = np.empty(source.shape[1], np.int32)
    shift, least, most = np.int32(PRECISION_BITS), np.int32(0), np.int32(255)
    for o in range(len(taken)):
        total[:] = 1 << (PRECISION_BITS - 1)
        for t in range(0, taken.shape[1], UNROLL):
            a, b, c, d = source[taken[o, t]], source[taken[o, t + 1]], source[taken[o, t + 2]], source[taken[o, t + 3]]
            wa, wb, wc, wd = weights[o, t], weights[o, t + 1], weights[o, t + 2], weights[o, t + 3]
            for x in range(len(total)):
                total[x] += wa * a[x] + wb * b[x] + wc * c[x] + wd * d[x]
        line = out[o]
        for x in range(len(total)):
            line[x] = min(max(total[x] >> shift, least), most)
    return out


@cache
def _taps(size: int, side: int) -> tuple[Lines, Lines]:
    """For each output its inputs and their whole-number weights, rounded as Pillow rounds them."""
    scale = size / side
    stretch = max(scale, 1.0)
    support = LANCZOS_SUPPORT * stretch
    found: list[tuple[int, list[int]]] = []
    for out in range(side):
        centre = (out + 0.5) * scale
        low = max(int(centre - support + 0.5), 0)
        high = min(int(centre + support + 0.5), size)
        values = [_lanczos((x - centre + 0.5) * (1.0 / stretch)) for x in range(low, high)]
        total = 0.0
        for value in values:
            total += value
        shares = [(value / total if total else value) * (1 << PRECISION_BITS) for value in values]
        found.append((low, [int(share - 0.5) if share < 0 else int(share + 0.5) for share in shares]))
    count = -(-max(len(row) for _, row in found) // UNROLL) * UNROLL
    weights = np.zeros((side, count), np.int32)
    for out, (_, row) in enumerate(found):
        weights[out, : len(row)] = row
    taken = np.array([low for low, _ in found])[:, None] + np.arange(count)
    return np.minimum(taken, size - 1).astype(np.int32), weights


def _lanczos(x: float) -> float:
    if not -LANCZOS_SUPPORT <= x < LANCZOS_SUPPORT:
        return 0.0
    return _sinc(x) * _sinc(x / LANCZOS_SUPPORT)


def _sinc(x: float) -> float:
    return 1.0 if x == 0 else math.sin(x * math.pi) / (x * math.pi)
