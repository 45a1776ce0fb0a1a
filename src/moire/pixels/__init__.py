"""Pictures, and how far apart they are."""

from .decode import Image, common, decode, encode
from .measures import Fuzzy, Measure, figures, fuzzy, measure
from .perceptual import distance, phash
from .pictures import average, difference, side_by_side

__all__ = [
    "Fuzzy",
    "Image",
    "Measure",
    "average",
    "common",
    "decode",
    "difference",
    "distance",
    "encode",
    "figures",
    "fuzzy",
    "measure",
    "phash",
    "side_by_side",
]
