"""Operations as scripts: for a page that is shown already, and for one that changes before it is drawn."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ...nouns import Case, Environment, Operation, Update

# What may put a caret on the screen, which blinks.
_FOCUSING = frozenset(["focus", "open", "script"])
_HIDE_CARET = (
    "(sheet => { sheet.replaceSync('* { caret-color: transparent !important }');"
    " document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]; })(new CSSStyleSheet())"
)
# Where a page that changed before it was drawn keeps what its operations said.
_KEPT = "window[Symbol.for('moire')]"
# Reftests say by a class when they are done. Where the page's own code runs later, so does the signal it may wait for.
_WAITS = "document.documentElement.classList.contains('reftest-wait')"
DONE = f"(async () => {{ while ({_WAITS}) await new Promise(done => requestAnimationFrame(done)); return true; }})()"
# Nothing drawn yet, as far as an engine tells.
_UNDRAWN = "!performance.getEntriesByType('paint').length"
TOO_SOON = "the page was drawn before it was complete"


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _literal(update: Iterable[Operation]) -> str:
    """JSON that is at home in a script of any encoding."""
    return json.dumps([one.plain for one in update]).replace("<", "\\u003c")


def applied(update: Iterable[Operation], *, at_once: bool = False) -> str:
    """An expression that does the operations; its promise says what went wrong with each. The window's size is not a
    page's own to change. What code puts off to later is done `at_once`, too, if so asked."""
    done = [one for one in update if one.op != "resize"]
    # Only where there is code of the page's own: it is a long script.
    own = f"code => ({_file('own.js')})(code, {json.dumps(at_once)})" if any(o.op == "script" for o in done) else "null"
    return f"({_file('apply.js')})({_literal(done)}, {own})"


def prepared(update: Update) -> str:
    """An expression that makes a page ready for operations before it is drawn."""
    return f"({_HIDE_CARET}, true)" if any(one.op in _FOCUSING for one in update) else "true"


def at_once(update: Update) -> str:
    """An expression for a page that is complete and not drawn yet: prepared and changed."""
    return f"({prepared(update)}, {applied(update, at_once=True)})"


def final(environment: Environment, update: Update) -> Environment:
    """The environment that the operations leave."""
    for one in update:
        if one.op == "resize":
            environment = replace(environment, width=one["width"], height=one["height"])
    return environment


def loading(case: Case, *, changed: bool) -> Case:
    """The page with a script at its end that takes itself out and then prepares the page, and changes it if so asked:
    a parser waits for a script, and nothing is drawn meanwhile. Changed or not, pages are the same in everything else,
    the script's place included."""
    script = f"document.currentScript.remove(); {_KEPT} = {{ whole: {_UNDRAWN} }};"
    if changed:
        script += f"{at_once(case.update)}.then(said => {{ {_KEPT}.said = said; }});"
    else:
        script += f"{prepared(case.update)};"
    html, environment = _ended(case, script), case.environment
    return replace(case, html=html, environment=final(environment, case.update) if changed else environment)


KEPT = f"{_KEPT} || null"


def _ended(case: Case, script: str) -> bytes:
    if case.name.lower().endswith((".xht", ".xhtml", ".svg")):
        before, end, after = case.html.rpartition(b"</")
        space = "http://www.w3.org/2000/svg" if case.name.lower().endswith(".svg") else "http://www.w3.org/1999/xhtml"
        element = f'<script xmlns="{space}"><![CDATA[{script}]]></script>'
        return before + element.encode("ascii", "backslashreplace") + end + after
    return case.html + f"<script>{script}</script>".encode("ascii", "backslashreplace")
