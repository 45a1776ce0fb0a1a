"""Pictures and measures, against the libraries the peers use."""

from __future__ import annotations

import cv2
import imagehash
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image as Pillow

from moire.pixels import average, decode, difference, encode, figures, fuzzy, measure, side_by_side
from moire.pixels.perceptual import distance, phash
from moire.pixels.resample import shrink


def pillow(image: np.ndarray) -> Pillow.Image:
    return Pillow.fromarray(np.ascontiguousarray(image[:, :, ::-1]))


def page_like(seed: int, height: int = 600, width: int = 800) -> np.ndarray:
    """Flat areas, edges, gradients and noise: what pages are made of."""
    random = np.random.default_rng(seed)
    image = np.full((height, width, 3), 255, np.uint8)
    for _ in range(int(random.integers(0, 12))):
        y, x = int(random.integers(0, height)), int(random.integers(0, width))
        colour = random.integers(0, 256, 3).tolist()
        cv2.rectangle(image, (x, y), (x + 90, y + 40), colour, -1)
        cv2.putText(image, "moire", (x, y), cv2.FONT_HERSHEY_SIMPLEX, 1, colour, 1, cv2.LINE_AA)
    if seed % 3 == 0:
        image[100:200, 100:200] = random.integers(0, 256, (100, 100, 3))
    if seed % 4 == 0:
        image[300:400] = np.linspace(0, 255, width)[None, :, None]
    return image


@pytest.mark.parametrize("size", [8, 24, 64])
@pytest.mark.parametrize("seed", range(8))
def test_phash_is_imagehash_bit_for_bit(seed: int, size: int) -> None:
    image = page_like(seed)
    assert np.array_equal(phash(image, size), imagehash.phash(pillow(image), size).hash)


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(np.uint8, st.tuples(st.integers(1, 90), st.integers(1, 90), st.just(3))),
    st.sampled_from([2, 3, 8, 16, 64]),
)
def test_phash_is_imagehash_on_any_pixels(image: np.ndarray, size: int) -> None:
    height, width = image.shape[:2]
    if height <= width:
        theirs = pillow(image).convert("L").resize((size * 4, size * 4), Pillow.Resampling.LANCZOS)
        assert np.array_equal(shrink(image, size * 4), np.asarray(theirs))
    assert np.array_equal(phash(image, size), imagehash.phash(pillow(image), size).hash)


def test_distance_is_imagehash_subtraction() -> None:
    a, b = page_like(1), page_like(2)
    assert distance(phash(a), phash(b)) == imagehash.phash(pillow(a), 64) - imagehash.phash(pillow(b), 64) > 140


def test_presets_are_the_peers() -> None:
    a, b = page_like(1), page_like(2)
    assert measure("phash").threshold == 140 and measure("sqdiff").threshold == 0.0001
    assert measure("sqdiff").distance(a, b) == pytest.approx(
        float(cv2.matchTemplate(a, b, cv2.TM_SQDIFF_NORMED)[0, 0]), abs=0
    )


@pytest.mark.parametrize(
    "name",
    [
        "exact",
        "pixels",
        "phash",
        "sqdiff",
        "sqdiff-raw",
        "ccorr",
        "ccorr-raw",
        "ccoeff",
        "ccoeff-raw",
        "chi2",
        "ink",
        "fuzzy:0;0",
        "phash:8:0",
    ],
)
def test_every_measure_knows_same_from_different(name: str) -> None:
    white, page = np.full((600, 800, 3), 255, np.uint8), page_like(3)
    assert not measure(name).different(page, page.copy())
    assert not measure(name).different(white, white.copy())
    assert measure(name).different(page, page_like(5))
    if not name.startswith("phash"):  # a hash of shapes sees none in either
        red = np.full_like(white, (0, 0, 255))
        assert measure(name).different(white, red) and measure(name).different(red, white)
        assert measure(name).different(page, 255 - page)


@pytest.mark.parametrize(
    "name",
    ["nope", "phash:x", "phash:1000:1", "phash:inf:1", "phash:64:140:7", "exact:nan", "fuzzy:1", "exact:1:2", ""],
)
def test_an_unknown_measure_is_a_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"[a-z ]+\."):
        measure(name)


def test_thin_text_in_another_colour_is_inked_otherwise() -> None:
    """Where nearly all is white, colours make next to no difference to a histogram."""
    black, red, bold = (np.full((30, 900, 3), 255, np.uint8) for _ in range(3))
    for picture, colour, step in ((black, (0, 0, 0), 8), (red, (0, 0, 255), 8), (bold, (0, 0, 0), 7)):
        picture[8:22, 10:130:step] = colour
    ink, chi2 = measure("ink:0.35"), measure("chi2:0.2")
    assert ink.different(black, red) and not chi2.different(black, red)
    assert not ink.different(black, bold)


def test_fuzzy_is_wpts_pair() -> None:
    a = np.zeros((10, 10, 3), np.uint8)
    b = a.copy()
    b[0, 0] = (1, 0, 7)
    b[5, 5] = (3, 3, 3)
    seen = fuzzy(a, b)
    assert (seen.max_difference, seen.pixels) == (7, 2)
    assert seen.meta == '<meta name="fuzzy" content="maxDifference=0-7;totalPixels=0-2">'
    assert not measure("fuzzy:7;2").different(a, b)
    assert measure("fuzzy:6;2").different(a, b) and measure("fuzzy:7;1").different(a, b)


def test_pictures_of_other_sizes_differ() -> None:
    a, b = np.zeros((10, 10, 3), np.uint8), np.zeros((10, 12, 3), np.uint8)
    assert measure("exact").different(a, b)
    assert fuzzy(a, b).pixels == 20
    assert figures(a, b)["pixels"] == 20
    white, smaller = np.full((60, 80, 3), 255, np.uint8), np.full((30, 40, 3), 255, np.uint8)
    for name in ("exact", "pixels", "phash", "sqdiff", "ccoeff", "chi2", "fuzzy:0;0"):
        assert measure(name).different(white, smaller), name
    assert fuzzy(white, smaller) == fuzzy(smaller, white) and fuzzy(white, smaller).pixels == 60 * 80 - 30 * 40


def test_figures_of_a_pair() -> None:
    a, b = page_like(1), page_like(1)
    assert figures(a, b) == {"phash": 0, "pixels": 0, "max_difference": 0, "sqdiff": 0.0}
    b[0, 0] = 0
    assert figures(a, b)["pixels"] == 1 and figures(a, b)["max_difference"] == 255


def test_pictures_for_people() -> None:
    a, b = page_like(1), page_like(1)
    b[50:60, 50:60] = 0
    shown = difference(a, b)
    assert shown.shape == a.shape and not np.array_equal(shown[55, 55], shown[500, 500])
    assert np.array_equal(difference(a, a)[..., 0], difference(a, a)[..., 1])
    assert average([a, b])[55, 55, 0] in range(120, 136)
    assert side_by_side([a, b, shown]).shape == (600, 2416, 3)
    assert np.array_equal(decode(encode(a)), a)


def test_what_is_no_picture_is_a_value_error() -> None:
    for data in (b"", b"\x89PNG\r\n\x1a\n", b"hello"):
        with pytest.raises(ValueError):
            decode(data)
