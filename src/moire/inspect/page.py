"""What a page is, as opposed to how it looks."""

from __future__ import annotations

from ..browsers.drivers.base import Tab, Untestable
from .scripts import script

Page = tuple[str, ...]
# Of a line that says how two pages differ, so much is quoted.
_QUOTED = 120


async def page(tab: Tab) -> Page:
    """Tree, fields, style sheets, scrolling, focus, window and animations, one line each."""
    found = await tab.inspect(script("page.js"))
    if not isinstance(found, list):
        raise Untestable("the page meddles with the answers of scripts")
    return tuple(map(str, found))


def at_rest(found: Page) -> bool:
    """Whether nothing of it moves or is still to come."""
    return not still_loads(found) and not any(line.startswith("animation ") for line in found)


def still_loads(found: Page) -> bool:
    return "page still loads" in found


def moves(found: Page) -> bool:
    """Whether something in it never comes to rest."""
    return "page moves by itself" in found


def apart(a: Page, b: Page) -> str:
    """Where two pages are not the same page, in words; empty if they are."""
    for one, other in zip(a, b, strict=False):
        if one != other:
            return f"{one[:_QUOTED]!r} and {other[:_QUOTED]!r}"
    longer = max(a, b, key=len)
    return "" if len(a) == len(b) else f"{longer[min(len(a), len(b))][:_QUOTED]!r} is only in one of them"
