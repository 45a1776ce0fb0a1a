"""The perceptual hash that R2Z2 compares by, equal bit for bit to `imagehash.phash`.

Grey, shrunk to four times the hash size by Lanczos, a cosine transform, and one bit for each low
frequency: above the median or not. Many frequencies of a web page are zero but for rounding, and
their bits hang on that rounding, so each step here gives the very numbers that Pillow and SciPy
give: the shrinking in Pillow's fixed point, the transform by SciPy itself.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from PIL import Image as Pillow

from .decode import Image
from .measures import HASH_SIZE
from .resample import Bytes, fresh_rows, grey, shrink, transposed

HIGH_FREQUENCY_FACTOR = 4
# SciPy transforms this many lines at once at the most, and those left over in other steps with other
# rounding: what is left out must leave whole groups.
LANES = 16

Bits = NDArray[np.bool_]


def phash(image: Image, hash_size: int = HASH_SIZE) -> Bits:
    side = hash_size * HIGH_FREQUENCY_FACTOR
    tall = image.shape[0] > image.shape[1]
    low = _low_frequencies(_shrunk_by_pillow(image, side) if tall else shrink(image, side), hash_size)
    # The median; numpy's own takes longer than the sorting.
    ranked = np.sort(low, axis=None)
    bits: Bits = low > (ranked[(low.size - 1) // 2] + ranked[low.size // 2]) / 2
    return bits


def distance(a: Bits, b: Bits) -> int:
    """How many bits differ."""
    return int(np.count_nonzero(a != b))


def _shrunk_by_pillow(image: Image, side: int) -> Bytes:
    """For pictures taller than wide, where Pillow decides by its own lights which way to shrink first."""
    rows = np.ascontiguousarray(image).reshape(len(image), -1)
    whole = Pillow.fromarray(grey(rows, np.arange(len(rows), dtype=np.int32)))
    return np.asarray(whole.resize((side, side), Pillow.Resampling.LANCZOS))


def _low_frequencies(small: Bytes, hash_size: int) -> NDArray[np.float64]:
    # Each column's transform is its own, so those that repeat the one to the left are transformed once,
    # and only the rows of low frequencies go on.
    rows = -(-hash_size // LANES) * LANES
    if len(small) % LANES:
        columns = scipy.fft.dct(small.astype(np.float64), axis=0)[:rows]
    else:
        upright = transposed(small)
        fresh, line = fresh_rows(upright.view(np.uint64))
        once = upright[np.resize(fresh, -(-len(fresh) // LANES) * LANES)].astype(np.float64)
        columns = scipy.fft.dct(once.T, axis=0, overwrite_x=True)[:rows].take(line, axis=1)
    low: NDArray[np.float64] = scipy.fft.dct(columns, axis=1, overwrite_x=True)[:hash_size, :hash_size]
    return low
