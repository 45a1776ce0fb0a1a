"""Operations as scripts: for a page that is shown already, and for one that changes before it is drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files

from ...nouns import Case, Environment, Operation, Update
from ...nouns.update import FOCUSING

# A statement for each operation; `on` stands for its target. The window's size is not a page's own to change.
_STATEMENTS = {
    "insert-node": "{on}.insertAdjacentHTML({position}, {html})",
    "delete-node": "{on}.remove()",
    "move-node": "document.querySelector({to}).insertAdjacentElement({position}, {on})",
    "set-attribute": "{on}.setAttribute({name}, {value})",
    "remove-attribute": "{on}.removeAttribute({name})",
    "toggle-class": "{on}.classList.toggle({name})",
    "set-style": "{on}.style.setProperty({name}, {value})",
    # The first text, so that elements stay.
    "set-text": "(e => {{ const text = [...e.childNodes].find(n => n.nodeType === Node.TEXT_NODE);"
    " if (text) text.data = {value}; else e.prepend({value}); }})({on})",
    "insert-rule": "document.styleSheets[{sheet}].insertRule({rule}, {index})",
    "delete-rule": "document.styleSheets[{sheet}].deleteRule({index})",
    "focus": "{on}.focus()",
    "scroll": "{on}.scrollTo({{left: {x}, top: {y}, behavior: 'instant'}})",
    "resize": "",
    "open": "(e => {{ if (!e.show) e.open = true; else if (!e.open) {{ if ({modal}) e.showModal(); else e.show(); }}"
    " }})({on})",
    "close": "(e => {{ if (e.close) e.close(); else e.open = false; }})({on})",
    "set-value": "{on}.value = {value}",
    "set-checked": "{on}.checked = {value}",
    "script": "await own({code})",
}
# A caret blinks.
_HIDE_CARET = (
    "(sheet => { sheet.replaceSync('* { caret-color: transparent !important }');"
    " document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]; })(new CSSStyleSheet())"
)
# Where a page that changed before it was drawn keeps what its operations said.
_KEPT = "window[Symbol.for('moire')]"
KEPT = f"{_KEPT} || null"
# Reftests say by a class when they are done.
_WAITS = "document.documentElement.classList.contains('reftest-wait')"
DONE = f"(async () => {{ while ({_WAITS}) await new Promise(done => requestAnimationFrame(done)); return true; }})()"
# Nothing drawn yet, as far as an engine tells.
_UNDRAWN = "!performance.getEntriesByType('paint').length"


@cache
def _own() -> str:
    return files(__package__).joinpath("own.js").read_text("utf-8")


def literal(value: object) -> str:
    """JSON that is at home in a script of any encoding."""
    return json.dumps(value).replace("</", "<\\/").replace("<!--", "<\\!--")


def statement(one: Operation) -> str:
    """The operation as one would write it by hand."""
    values = {name: literal(value) for name, value in one.arguments}
    on = f"document.querySelector({values.get('target')})" if one.plain.get("target") else "window"
    return _STATEMENTS[one.op].format(on=on, **values)


def _guarded(one: Operation) -> str:
    """It says what went wrong, or nothing."""
    missing = ""
    for name in ("target", "to"):
        if one.plain.get(name):
            there = f"document.querySelector({literal(one[name])})"
            missing += f"if (!{there}) throw new Error({literal(f'there is no {one[name]}')}); "
    return f"try {{ {missing}const wrong = {_answer(one)}; said.push(wrong); }} catch (e) {{ said.push(String(e)); }}"


def _answer(one: Operation) -> str:
    return statement(one) if one.op == "script" else f"(({statement(one)}), '')" if statement(one) else "''"


def applied(update: Iterable[Operation], *, at_once: bool = False) -> str:
    """An expression that does the operations; its promise says what went wrong with each. What code of the page's own
    puts off to later is done `at_once`, too, if so asked."""
    done = list(update)
    # Only where it is needed: it is a long script.
    code = any(one.op == "script" for one in done)
    own = f"const own = code => ({_own()})(code, {literal(at_once)}); " if code else ""
    return f"(async () => {{ const said = []; {own}{' '.join(map(_guarded, done))} return said; }})()"


def prepared(update: Update) -> str:
    """An expression that makes a page ready for operations before it is drawn; empty if it is ready."""
    return _HIDE_CARET if any(one.op in FOCUSING for one in update) else ""


def at_once(update: Update) -> str:
    """An expression for a page that is complete and not drawn yet: prepared and changed."""
    return f"({prepared(update) or 'true'}, {applied(update, at_once=True)})"


def final(environment: Environment, update: Update) -> Environment:
    """The environment that the operations leave."""
    for one in update:
        if one.op == "resize":
            environment = replace(environment, width=one["width"], height=one["height"])
    return environment


def loading(case: Case, *, changed: bool) -> Case:
    """The page with a script at its end that takes itself out and then prepares the page, and changes it if so asked:
    a parser waits for a script, and nothing is drawn meanwhile. Changed or not, pages are the same in everything else,
    the script's place included. On a busy machine, parsers stop on the way, and engines may draw what there is by then,
    or lay it out: where that can be, a script before all else writes the page in one go."""
    script = f"document.currentScript.remove(); {_KEPT} = {{ whole: {_UNDRAWN} }};"
    if case.environment.direction != "ltr":
        # Not once the page is drawn, as for others.
        script += "if (!document.documentElement.hasAttribute('dir')) document.documentElement.dir = 'rtl';"
    if changed:
        script += f"{at_once(case.update)}.then(said => {{ {_KEPT}.said = said; }});"
    else:
        script += f"{prepared(case.update)};"
    environment = final(case.environment, case.update) if changed else case.environment
    html = ended(case, f"<script>{script}</script>")
    return replace(case, html=_in_one_go(case, html), environment=environment)


# What must come first: nothing else can say how the rest is read.
_DOCTYPE = re.compile(rb"\s*(?:<!--.*?-->\s*)*<!doctype[^>]*>\s*", re.IGNORECASE | re.DOTALL)
_BOM = b"\xef\xbb\xbf"


def _in_one_go(case: Case, html: bytes) -> bytes:
    """The same document by a script that writes it and is gone before that."""
    first = _DOCTYPE.match(html)
    before, rest = (first[0], html[first.end() :]) if first else (b"", html.lstrip())
    if not case.legible or b"<!doctype" in rest.lower():
        return html
    script = f"<script>document.currentScript.remove(); document.write({literal(rest.decode('utf-8'))});</script>"
    # What the page says of its encoding comes too late for the parser.
    return (b"" if html.isascii() else _BOM) + before + script.encode("ascii")


def ended(case: Case, markup: str) -> bytes:
    """The page with markup at its end, for whoever reads on there."""
    data = markup.encode("ascii", "backslashreplace")
    name = case.name.lower()
    if name.endswith((".xht", ".xhtml", ".svg")):
        space = b"http://www.w3.org/2000/svg" if name.endswith(".svg") else b"http://www.w3.org/1999/xhtml"
        data = data.replace(b"<script>", b'<script xmlns="%s"><![CDATA[' % space).replace(b"</script>", b"]]></script>")
        before, end, after = case.html.rpartition(b"</")
        return before + data + end + after
    return case.html + data
