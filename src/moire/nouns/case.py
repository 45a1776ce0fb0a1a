"""What is shown to a browser."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from .errors import UsageError
from .update import FOCUSING, Update

ColorScheme = Literal["light", "dark"]
Direction = Literal["ltr", "rtl"]
Medium = Literal["screen", "print"]
# A folder's files are read whole; a larger one is no test resource.
MOST_BYTES = 256 * 1024 * 1024


def inside(path: str) -> bool:
    """Whether a path stays in the folder that it is relative to."""
    return bool(path) and not Path(path).is_absolute() and ".." not in Path(path).parts


@dataclass(frozen=True, slots=True)
class Environment:
    """The conditions a page is shown under; the default is the one WPT's reftests use."""

    width: int = 800
    height: int = 600
    scale: float = 1.0
    color_scheme: ColorScheme = "light"
    direction: Direction = "ltr"
    medium: Medium = "screen"

    def __post_init__(self) -> None:
        # 16,384 is the largest texture side that every engine here can draw in software.
        if not (1 <= self.width <= 16384 and 1 <= self.height <= 16384):
            raise UsageError(
                f"A viewport of {self.width}×{self.height} cannot be shown.",
                "Give a width and a height from 1 to 16384.",
            )
        if not 0.1 <= self.scale <= 8:
            raise UsageError(f"A scale of {self.scale} cannot be shown.", "Give one from 0.1 to 8.")


# Anything that lets a page act, load or leave. Erring on the side of "acts" costs speed only.
_ACTIVE_WORDS = (
    *b"<script http-equiv <iframe <frame <object <embed <base <link <audio <video <portal <animate <set <use".split(),
    *b"<image <feimage javascript: // src url( image-set( autofocus autoplay @import".split(),
    b"\\",  # CSS may write any of its words with escapes.
)
_ACTIVE_FORMS = re.compile(
    rb"[\s\"'/](?:on[a-z]+|background)\s*="  # handlers, and an image by an old attribute
    rb"|<style[^>]*\btitle"  # a sheet among alternatives: which one is used may outlive a page
    rb"|&(?=[#a-z])(?!(?:amp|lt|gt|quot|nbsp|copy|mdash|eacute);)"  # references can spell any of the words above
)
# How a page says what it is encoded in. Without it, and with more than ASCII, a navigation would guess.
_UTF8 = re.compile(rb"<meta charset=[\"']?utf-8\b")
# Anything that may still change once the page is shown.
# An animation has no effect without its keyframes.
_RESTLESS_WORDS = (b"keyframes", b"transition", b"@starting-style", b"@font-face", b"<marquee", b"<img")
# How a page gives an element the focus.
_FOCUSING_FORMS = re.compile(rb"autofocus|\.focus\b|showmodal|\.select\(|setselectionrange|execcommand")


@dataclass(frozen=True)
class Case:
    """A page's bytes, what they refer to, the environment to show them in, and what is done to it once it is shown.

    `root` is a folder whose files the page may load; `resources` are such files held in memory,
    by path relative to the page. Two cases with equal `digest` show the same thing.
    """

    html: bytes
    name: str = "page.html"
    resources: Mapping[str, bytes] = field(default_factory=dict)
    root: Path | None = None
    environment: Environment = Environment()
    seed: int | None = None
    update: Update = ()

    @classmethod
    def from_file(cls, path: Path, environment: Environment | None = None) -> Case:
        try:
            if path.exists() and not path.is_file() and not path.is_dir():
                raise UsageError(f"{path} is no ordinary file.", "Save the page to one first.")
            html = path.read_bytes()
        except FileNotFoundError:
            raise UsageError(f"There is no page at {path}.", "Check the path.") from None
        except IsADirectoryError:
            raise UsageError(f"{path} is a folder.", "Give the page itself.") from None
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
        folder = path.resolve().parent
        return cls(html, path.name, root=folder, environment=environment or Environment())

    def beside(self, path: str) -> bytes | None:
        """What is found under a path relative to the page; never anything outside its folder."""
        if path == self.name:
            return self.html
        if path in self.resources:
            return self.resources[path]
        if self.root is None:
            return None
        try:
            root = self.root.resolve()
            file = (root / path).resolve()
            if not file.is_relative_to(root) or not file.is_file() or file.stat().st_size > MOST_BYTES:
                return None
            return file.read_bytes()
        except (OSError, ValueError):
            return None

    @cached_property
    def digest(self) -> str:
        """Names the case in addresses and stores. A folder counts by path, not by content."""
        h = hashlib.sha256(repr((self.name, self.environment, str(self.root or ""), self.update)).encode())
        h.update(self.html)
        for path in sorted(self.resources):
            h.update(b"\0" + path.encode() + b"\0" + self.resources[path])
        return h.hexdigest()[:24]

    @cached_property
    def legible(self) -> bool:
        """True for HTML that every engine reads as the same text, without a guess."""
        try:
            self.html.decode("utf-8")
        except UnicodeDecodeError:
            return False
        text = self.html.lower()
        if not self.name.lower().endswith((".html", ".htm")) or text.startswith(b"\xef\xbb\xbf"):
            return False
        declared = text.count(b"charset")
        return (text.isascii() and not declared) or (declared == 1 and bool(_UTF8.search(text[:1024])))

    @cached_property
    def inert(self) -> bool:
        """True when nothing in the page can run, load from elsewhere, or leave.

        Only such a page may be shown by content in a tab that other pages use.
        """
        if not self.legible:
            return False
        text = self.html.lower()
        words = any(word in text for word in (b"\0", *_ACTIVE_WORDS))
        return not words and not _ACTIVE_FORMS.search(text)

    @cached_property
    def at_rest(self) -> bool:
        """True for an inert page that is final as soon as it is shown: nothing moves or comes later."""
        text = self.html.lower()
        return self.inert and not any(word in text for word in _RESTLESS_WORDS)

    @cached_property
    def focuses(self) -> bool:
        """True when something in it may get the focus, which only one page of a browser may have at a time."""
        return any(one.op in FOCUSING for one in self.update) or bool(_FOCUSING_FORMS.search(self.html.lower()))
