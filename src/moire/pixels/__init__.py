"""Pictures, and how far apart they are."""

from .decode import Image, common, decode, encode
from .measures import Fuzzy, Measure, figures, fuzzy, measure
from .pictures import average, difference, side_by_side, stacked

__all__ = [
    "Fuzzy",
    "Image",
    "Measure",
    "average",
    "common",
    "decode",
    "difference",
    "encode",
    "figures",
    "fuzzy",
    "measure",
    "side_by_side",
    "stacked",
]
