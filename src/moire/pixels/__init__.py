"""Pictures, and how far apart they are."""

from .decode import Image, common, decode, encode, size
from .measures import Fuzzy, Measure, figures, fuzzy, measure, visible
from .pictures import average, close_up, difference, side_by_side, stacked, thumbnail

__all__ = [
    "Fuzzy",
    "Image",
    "Measure",
    "average",
    "close_up",
    "common",
    "decode",
    "difference",
    "encode",
    "figures",
    "fuzzy",
    "measure",
    "side_by_side",
    "size",
    "stacked",
    "thumbnail",
    "visible",
]
