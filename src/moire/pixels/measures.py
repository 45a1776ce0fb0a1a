"""Ways to say how far two pictures are apart, each with a threshold above which they differ.

A measure is written `name` or `name:threshold`; `phash` also takes a hash size, `phash:64:140`, and
`fuzzy` WPT's pair, `fuzzy:2;100`. The defaults of `phash` are R2Z2's, those of `sqdiff` Bartender's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from .decode import Image, common

HASH_SIZE = 64
R2Z2_THRESHOLD = 140
BARTENDER_THRESHOLD = 0.0001
HISTOGRAM_BINS = 32
# Of 255: what is less in the mean is rounding.
FAINT = 8.0

_TEMPLATE = {
    "sqdiff-raw": cv2.TM_SQDIFF,
    "sqdiff": cv2.TM_SQDIFF_NORMED,
    "ccorr-raw": cv2.TM_CCORR,
    "ccorr": cv2.TM_CCORR_NORMED,
    "ccoeff-raw": cv2.TM_CCOEFF,
    "ccoeff": cv2.TM_CCOEFF_NORMED,
}
# For these, larger means more alike; they are turned round so that 0 is equal.
_LIKENESS = {"ccorr", "ccoeff", "ccorr-raw", "ccoeff-raw"}


@dataclass(frozen=True, slots=True)
class Measure:
    """`different` when `distance` is above `threshold`, and only then."""

    name: str
    distance: Callable[[Image, Image], float]
    threshold: float

    def different(self, a: Image, b: Image) -> bool:
        # Pictures of two sizes are two pictures, whatever the measure makes of them.
        return a.shape != b.shape or self.distance(a, b) > self.threshold


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """WPT's tolerance: the largest difference of a channel, and how many pixels differ at all."""

    max_difference: int
    pixels: int

    @property
    def meta(self) -> str:
        """Ready to paste into a reftest."""
        return f'<meta name="fuzzy" content="maxDifference=0-{self.max_difference};totalPixels=0-{self.pixels}">'


def fuzzy(a: Image, b: Image) -> Fuzzy:
    sizes = a.shape, b.shape
    a, b = common(a, b)
    worst = cv2.absdiff(a, b).max(axis=2)
    if sizes[0] != sizes[1]:
        # What only one of them has is as different as can be.
        both = np.zeros(worst.shape, bool)
        both[: min(sizes[0][0], sizes[1][0]), : min(sizes[0][1], sizes[1][1])] = True
        worst[~both] = 255
    return Fuzzy(int(worst.max(initial=0)), int(np.count_nonzero(worst)))


def visible(a: Image, b: Image) -> int:
    """How much of a difference there is to be seen: pixels, each by how strongly it differs."""
    a, b = common(a, b)
    return round(float(cv2.absdiff(a, b).max(axis=2).sum(dtype=np.int64)) / 255)


def pixels(a: Image, b: Image) -> float:
    return float(fuzzy(a, b).pixels)


def template(method: int, turned: bool, a: Image, b: Image) -> float:
    a, b = common(a, b)
    value = _match(a, b, method)
    if not turned:
        return value
    if np.array_equal(a, b):
        return 0.0
    if _flat(a) or _flat(b):
        # A flat picture has no correlation to speak of: OpenCV says 0 or 1 as it comes.
        return 1.0
    # As far from a picture's likeness to itself; that of the normalised measures is 1.
    return abs(_match(a, a, method) - value)


def _match(a: Image, b: Image, method: int) -> float:
    return float(cv2.matchTemplate(a, b, method)[0, 0])


def _flat(image: Image) -> bool:
    return bool((image == image[0, 0]).all())


def perceptual(size: int, a: Image, b: Image) -> float:
    # The hash brings SciPy and a compiler along, which most calls of the command can do without.
    from .perceptual import distance, phash

    return float(distance(phash(a, size), phash(b, size)))


def chi2(a: Image, b: Image) -> float:
    """χ² between colour histograms, each of area 1: 0 for equal, at most 2."""
    total = 0.0
    for channel in range(3):
        ha, hb = (
            cv2.calcHist([image], [channel], None, [HISTOGRAM_BINS], [0, 256]).ravel() / image[..., 0].size
            for image in (a, b)
        )
        both = ha + hb
        used = both > 0
        total += float((((ha - hb) ** 2)[used] / both[used]).sum())
    return total / 3


def ink(a: Image, b: Image) -> float:
    """How differently two pictures are coloured, whatever is drawn with these colours: how far their mean colours are
    apart, measured by how far what is drawn is from what it is drawn on. 0 for equal; thin text counts like a box."""
    height, width = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
    a, b = a[:height, :width], b[:height, :width]
    grounds = [np.median(image.reshape(-1, 3), axis=0) for image in (a, b)]
    far = [np.abs(image - ground).max(axis=2) for image, ground in zip((a, b), grounds, strict=True)]
    # Where anything is drawn, in either.
    rows, columns = ([np.flatnonzero((one > FAINT).any(axis=axis)) for one in far] for axis in (1, 0))
    drawn = [slice(min(one[0] for one in along if len(one)), max(one[-1] for one in along if len(one)) + 1)
             if any(map(len, along)) else slice(None) for along in (rows, columns)]  # fmt: skip
    means = [image[drawn[0], drawn[1]].reshape(-1, 3).mean(axis=0) for image in (a, b)]
    apart = float(np.abs(means[0] - means[1]).max())
    off = float(np.abs(grounds[0] - grounds[1]).max())
    return apart / max(*(float(one[drawn[0], drawn[1]].mean()) for one in far), off, FAINT)


def exact(a: Image, b: Image) -> float:
    return 0.0 if a.shape == b.shape and np.array_equal(a, b) else 1.0


def _fuzzy_measure(words: list[str]) -> Measure:
    try:
        limit, count = (int(n) for n in (words[0] if words else "0;0").split(";"))
    except ValueError:
        limit = count = -1
    if not (0 <= limit <= 255 and count >= 0):
        raise ValueError("fuzzy takes two whole numbers, 0 to 255 and 0 or more. Write for example fuzzy:2;100.")

    def beyond(a: Image, b: Image) -> float:
        seen = fuzzy(a, b)
        return float(seen.max_difference > limit or seen.pixels > count)

    return Measure(f"fuzzy:{limit};{count}", beyond, 0.0)


def measure(text: str) -> Measure:
    """A measure from its name; ValueError, in a sentence for users, where there is none."""
    name, *words = text.split(":")
    if name == "fuzzy":
        return _fuzzy_measure(words)
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = [math.nan]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"The threshold in {text!r} is no number. Write for example phash:140.")
    if name == "phash" and len(numbers) <= 2:
        size = int(numbers.pop(0)) if len(numbers) == 2 else HASH_SIZE
        if not 2 <= size <= 256:
            raise ValueError(f"A hash size of {size} is out of range. Give one from 2 to 256.")
        threshold = numbers[0] if numbers else R2Z2_THRESHOLD
        _within(text, threshold, size * size)
        return Measure(text, partial(perceptual, size), threshold)
    made: dict[str, tuple[Callable[[Image, Image], float], float, float]] = {
        "exact": (exact, 0.0, 1),
        "pixels": (pixels, 0.0, math.inf),
        "chi2": (chi2, 0.0, 2),
        "ink": (ink, 0.0, math.inf),
        **{
            key: (partial(template, method, key in _LIKENESS), BARTENDER_THRESHOLD, math.inf)
            for key, method in _TEMPLATE.items()
        },
    }
    if name not in made or len(numbers) > 1:
        names = ", ".join([*made, "phash", "fuzzy"])
        raise ValueError(f"There is no measure {text!r}. The measures are {names}.")
    function, default, most = made[name]
    threshold = numbers[0] if numbers else default
    _within(text, threshold, most)
    return Measure(text, function, threshold)


def _within(text: str, threshold: float, most: float) -> None:
    """A threshold that nothing can pass would call everything the same, and one below 0 nothing."""
    if not 0 <= threshold < most:
        below = "" if most == math.inf else f" and below {most:g}"
        raise ValueError(f"The threshold in {text!r} is out of range. Give one from 0{below}.")


def figures(a: Image, b: Image) -> dict[str, float | int]:
    """What every report says of a pair."""
    seen = fuzzy(a, b)
    if seen.pixels == 0 and a.shape == b.shape:
        return {"phash": 0, "pixels": 0, "max_difference": 0, "sqdiff": 0.0}
    return {
        "phash": int(perceptual(HASH_SIZE, a, b)),
        "pixels": seen.pixels,
        "max_difference": seen.max_difference,
        "sqdiff": template(cv2.TM_SQDIFF_NORMED, False, a, b),
    }
