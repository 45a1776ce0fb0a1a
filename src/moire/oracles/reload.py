"""Reload: an updated page must look like its own serialised tree, loaded anew.

It is LQC's oracle. What is no part of the markup (scrolling, focus, fields, sheets that scripts made) is lost on the
way, and looks like a bug where it shows.
"""

from __future__ import annotations

from dataclasses import replace

from ..browsers.drivers.base import Tab, Untestable
from ..browsers.lab import Lab
from ..nouns import Build, Case, Failure, Outcome
from ..pages.update import script
from . import update
from .update import Rendering

_SERIALISED = """(() => {
  const type = document.doctype;
  const before = type ? `<!DOCTYPE ${type.name}>` : '';
  return before + document.documentElement.outerHTML;
})()"""


async def reloaded(lab: Lab, build: Build, case: Case) -> tuple[Rendering | Failure, Outcome]:
    """The updated page, and its tree loaded anew."""
    found: list[str] = []

    async def serialise(tab: Tab) -> None:
        text = await tab.inspect(_SERIALISED)
        if not isinstance(text, str):
            raise Untestable("the page meddles with the answers of scripts")
        found.append(text)

    first = await update.updated(lab, build, case, serialise)
    if isinstance(first, Failure):
        return first, first
    environment = script.final(case.environment, case.update)
    again = replace(case, html=found[-1].encode("utf-8", "replace"), update=(), environment=environment)
    return first, await lab.shoot(build, again)
