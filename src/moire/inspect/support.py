"""What a build knows of the web's grammar: asked once, and remembered until the build or the grammar changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from .. import home
from ..browsers.drivers.base import Tab
from ..browsers.lab import Lab
from ..nouns import Build, Case, Failure, MoireError
from ..pages.spec import probe, web

_PAGE = Case(b"<!DOCTYPE html><title>support</title>")
# Questions in one script.
AT_ONCE = 20_000
_SPACES = {"svg": "http://www.w3.org/2000/svg", "mathml": "http://www.w3.org/1998/Math/MathML"}


async def support(lab: Lab, build: Build) -> probe.Support:
    """What a build takes of what the web's grammar generates."""
    kept = home.folder("support") / f"{_key(build)}.json"
    try:
        known = json.loads(kept.read_text())
        return probe.Support(tuple(known["refused"]), dict(known["rates"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    seen = await lab.visit(build, _PAGE, _ask)
    if isinstance(seen, Failure):
        raise MoireError(f"{build.name} cannot be asked what it supports: {seen.reason}.")
    known = {"build": build.name, "refused": seen.value.refused, "rates": seen.value.rates}
    home.keep(kept, json.dumps(known, indent=0).encode())
    return seen.value


def _key(build: Build) -> str:
    whole = repr(
        (build.engine, build.version, str(build.path), build.flags, sorted(build.prefs.items()), build.address)
    )
    return hashlib.sha256(f"{whole}\0{web.origin()}".encode()).hexdigest()[:32]


async def _ask(tab: Tab) -> probe.Support:
    async def answers(questions: Sequence[object], script: str) -> list[bool]:
        found: list[bool] = []
        for start in range(0, len(questions), AT_ONCE):
            part = json.dumps(questions[start : start + AT_ONCE])
            said = await tab.inspect(
                f"{part}.map(q => {{ try {{ return +({script}) }} catch (e) {{ return 0 }} }}).join('')"
            )
            found += [answer == "1" for answer in said]
        return found

    async def declarations(questions: Sequence[tuple[str, str]]) -> list[bool]:
        return await answers(questions, "CSS.supports(q[0], q[1])")

    async def selectors(questions: Sequence[str]) -> list[bool]:
        return await answers(questions, "CSS.supports('selector(' + q + ')')")

    async def elements(questions: Sequence[tuple[str, str]]) -> list[bool]:
        rows = [(_SPACES.get(space, ""), name) for space, name in questions]
        made = "(q[0] ? document.createElementNS(q[0], q[1]) : document.createElement(q[1]))"
        known = f"![HTMLUnknownElement, Element, SVGElement].includes({made}.constructor)"
        return await answers(rows, known)

    return await probe.support(probe.Ask(declarations, selectors, elements))
