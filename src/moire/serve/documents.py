"""What becomes of documents on their way to a browser: each gets a script at its very beginning, and its policy is told
of that. Whatever a window is led to is such a document: text is shown as text, and the rest is named."""

from __future__ import annotations

import base64
import codecs
import hashlib
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from multidict import CIMultiDict

from .archive import UNANSWERED, Exchange

# Whether a request is for what a window shows, or a frame, or either; or for neither.
Place = Literal["window", "frame", "either", ""]
_PLACES: Mapping[str, Place] = {
    "document": "window", "iframe": "frame", "frame": "frame", "object": "frame", "embed": "frame",
}  # fmt: skip
# Answers that leave a window as it is.
_NONE = frozenset([UNANSWERED, 204, 205, 304])
_REDIRECTS = frozenset([301, 302, 303, 307, 308])
_HTML, _XHTML = "text/html", "application/xhtml+xml"
_READABLE = re.compile(r"text/|application/(.*\+)?(json|xml|javascript|yaml)")
# Of a file that is no page.
MOST_SHOWN = 100_000
# Under which pages have the script; where it asks which page it is, and leaves what it still has to say when it goes.
NAME = "__moire"
TALK = "/.moire/page"
# At the beginning of a frame that has no address: there are no quotes in it, since it stands in attributes.
_ADOPTS = (
    f"try {{ for (let up = parent;; up = up.parent) {{ if (up.{NAME}) {{ up.{NAME}.adopt(window); break; }}"
    " if (up === up.parent) break; } } catch (elsewhere) {} document.currentScript.remove();"
)
ADOPTING = f"<script>{_ADOPTS}</script>"


def place(headers: Mapping[str, str]) -> Place:
    """By what browsers say; they say less to origins that they do not trust."""
    told = headers.get("Sec-Fetch-Dest")
    if told is not None:
        return _PLACES.get(told, "")
    return "either" if "Upgrade-Insecure-Requests" in headers else ""


def kind_of(headers: CIMultiDict[str], body: bytes) -> str:
    """Where nobody says it, by how it begins."""
    told = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return told or (_HTML if body.lstrip()[:1] == b"<" else "text/plain")


def leaves_alone(one: Exchange) -> bool:
    """Whether the window stays where it is, or goes on to another address."""
    saved = any(k.lower() == "content-disposition" and v.lower().startswith("attachment") for k, v in one.headers)
    return one.status in _NONE or one.status in _REDIRECTS or saved


def is_module(asked: Mapping[str, str]) -> bool:
    """Or a script that is asked for in the same way, to which what is put in front of modules does no harm."""
    return asked.get("Sec-Fetch-Dest") == "script" and asked.get("Sec-Fetch-Mode") == "cors"


def as_module(one: Exchange) -> bytes:
    """One that says that it runs: browsers do not, other than of scripts."""
    if "javascript" not in kind_of(CIMultiDict(one.headers), one.body):
        return one.body
    strict = b'"use strict";' if _STRICT.match(one.body) else b""
    return strict + f"globalThis.{NAME} && {NAME}.module({json.dumps(one.url)});".encode() + one.body


# Whatever a page is made of, looking through it takes no longer than its length: no part of it is looked at twice.
_STRICT = re.compile(rb"(?:\s++|/\*(?:[^*]|\*(?!/))*+\*/|//[^\n]*+\n)*+[\"']use strict[\"']")


def is_page(one: Exchange) -> bool:
    return kind_of(CIMultiDict(one.headers), one.body) in (_HTML, _XHTML)


def shown(one: Exchange) -> Exchange:
    """As a page, what a window is led to and is none."""
    if is_page(one):
        return one
    kind = kind_of(CIMultiDict(one.headers), one.body)
    text = (
        one.body[:MOST_SHOWN].decode("utf-8", "replace") if _READABLE.match(kind) else f"{kind}: {len(one.body)} bytes"
    )
    page = f"<!DOCTYPE html><title>{html.escape(kind)}</title><pre>{html.escape(text)}</pre>"
    kept = tuple((name, value) for name, value in one.headers if name.lower() in ("set-cookie", "location"))
    return Exchange(
        one.method, one.url, one.asked, one.status, (*kept, ("Content-Type", "text/html; charset=utf-8")), page.encode()
    )


_WIDE = re.compile(r"charset\s*=\s*[\"']?(utf-16(?:le|be)?)\b", re.I)


def _in_bytes(one: Exchange) -> Exchange:
    """A document whose letters have two bytes each, in UTF-8: nothing can be put into it as it is."""
    headers = CIMultiDict(one.headers)
    kind = headers.get("Content-Type", _HTML)
    told = _WIDE.search(kind)
    if not told and not one.body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return one
    coding = told[1] if told and not one.body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-16"
    headers["Content-Type"] = f"{kind.partition(';')[0]}; charset=utf-8"
    return replace(one, headers=(*headers.items(),), body=one.body.decode(coding, "replace").encode())


# What may come before a page's first element that runs anything, as it is read: comments end in several ways, and what
# attributes have in them ends no tag.
_COMMENT = rb"(?:<!--(?:-?>|.*?--!?>)|<[?][^>]*+>)"
_ATTRIBUTES = rb"(?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+"
_FIRST = re.compile(
    rb"(?:\s++|%b)*+(?:<!doctype[^>]*+>)?(?:\s++|%b)*+(?:<html(?=[\s/>])%b>)?(?:\s++|%b)*+(?:<head(?=[\s/>])%b>)?"
    % (_COMMENT, _COMMENT, _ATTRIBUTES, _COMMENT, _ATTRIBUTES),
    re.I | re.S,
)


def with_script(one: Exchange, script: str) -> tuple[CIMultiDict[str], bytes]:
    """Headers and body: before all else that runs, and after what says how the page is to be read. What is not ASCII in
    it is written as a script writes it: whatever the page's encoding is."""
    one = _in_bytes(one)
    headers = CIMultiDict(one.headers)
    code = script.encode("ascii")
    if kind_of(headers, one.body) == _XHTML:
        code = b"<![CDATA[" + code + b"]]>"
    start = 3 if one.body.startswith(b"\xef\xbb\xbf") else 0
    found = _FIRST.match(one.body, start)
    at = found.end() if found else start
    _allow(headers, script)
    pieces = _pieces(one.body[at:], xml=code.startswith(b"<!"))
    body = b"".join(_amended(markup, script) + (_unproven_imports(markup, text)) for markup, text in pieces)
    tag = b'<script xmlns="http://www.w3.org/1999/xhtml">' if code.startswith(b"<!") else b"<script>"
    return headers, one.body[:at] + tag + code + b"</script>" + body


# Modules are not what they were, to the byte.
_INTEGRITY = re.compile(rb"(?<=\s)integrity\s*=\s*(?:\"sha[^\"]*\"|'sha[^']*'|sha[^\s>]*)", re.I)
# Scripts that may come at any time come in their order: that is one of the times.
_TAG = re.compile(rb"<script\b[^<>]*+>", re.I)
_SOURCE = re.compile(rb"\ssrc\s*=", re.I)
_ANY_TIME = re.compile(rb"(?<=[\s\"'])async(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+))?(?=[\s>/])", re.I)


_LINK = re.compile(rb"<link\b[^<>]*+>", re.I)
_FRAME = rb"<iframe\b(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>"
_IFRAME = re.compile(_FRAME, re.I)
# Up to where its text begins.
_SRCDOC = re.compile(rb"\ssrcdoc\s*=\s*[\"']", re.I)
_IMPORTS = re.compile(rb"\stype\s*=\s*[\"']?importmap\b", re.I)
# What has text in it that is no markup, up to where that begins, and where it ends. Frames have it in attributes.
_RAW = re.compile(rb"%b|<!--|<(script|style|textarea|title|xmp)\b[^<>]*+>" % _FRAME, re.I)
_ENDS = {name: re.compile(rb"</" + name, re.I) for name in (b"script", b"style", b"textarea", b"title", b"xmp")}
_ENDS[b""] = re.compile(rb"-->")


def _pieces(body: bytes, *, xml: bool) -> Iterator[tuple[bytes, bytes]]:
    """Markup, and the text behind it that is none, again and again. In XML, any element may be empty."""
    at = 0
    for found in () if xml else _RAW.finditer(body):
        if found.start() < at or (not found[1] and found[0] != b"<!--"):
            continue
        end = _ENDS[(found[1] or b"").lower()].search(body, found.end())
        last = end.start() if end else len(body)
        yield body[at : found.end()], body[found.end() : last]
        at = last
    yield body[at:], b""


def _amended(markup: bytes, script: str) -> bytes:
    return _IFRAME.sub(_adopted, _LINK.sub(_unproven, _TAG.sub(_in_order, _relaxed(markup, script))))


def _adopted(tag: re.Match[bytes]) -> bytes:
    adopting = html.escape(ADOPTING, quote=False).encode()
    return _SRCDOC.sub(lambda found: found[0] + adopting, tag[0], count=1)


def _in_order(tag: re.Match[bytes]) -> bytes:
    return _ANY_TIME.sub(b"defer", _unproven(tag)) if _SOURCE.search(tag[0]) else _unproven(tag)


def _unproven(tag: re.Match[bytes]) -> bytes:
    return _INTEGRITY.sub(b"", tag[0])


def _unproven_imports(markup: bytes, text: bytes) -> bytes:
    """The text, which may be what modules are to be by whose names."""
    if not text or not _IMPORTS.search(markup[markup.rfind(b"<") :]):
        return text
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(told, dict) or told.pop("integrity", None) is None:
        return text
    return json.dumps(told).replace("</", "<\\/").encode()


_META = re.compile(rb"<meta\b[^<>]*+>", re.I)
_POLICY = re.compile(rb"http-equiv\s*=\s*[\"']?content-security-policy\b", re.I)
_CONTENT = re.compile(rb"(content\s*=\s*)(\"[^\"]*\"|'[^']*')", re.I)


def _relaxed(body: bytes, script: str) -> bytes:
    """Policies that a page has in it."""

    def amended(found: re.Match[bytes]) -> bytes:
        def told(content: re.Match[bytes]) -> bytes:
            policy = html.unescape(content[2][1:-1].decode("utf-8", "replace"))
            return content[1] + b'"' + html.escape(_told_of(policy, script)).encode() + b'"'

        return _CONTENT.sub(told, found[0]) if _POLICY.search(found[0]) else found[0]

    return _META.sub(amended, body)


# Whether pages may wait for an answer, as the script does at its beginning.
_WAITING = re.compile(r"\bsync-xhr\b[^,;]*[,;]?")
_PERMITTING = ("Permissions-Policy", "Feature-Policy", "Document-Policy")


def _allow(headers: CIMultiDict[str], script: str) -> None:
    """The script by its hash, where a policy would not let it run, and what it does."""
    for name in _PERMITTING:
        for policy in headers.popall(name, []):
            if left := _WAITING.sub("", policy).strip(" ,;"):
                headers.add(name, left)
    for policies in headers.popall("Content-Security-Policy", []):
        for policy in policies.split(","):
            headers.add("Content-Security-Policy", _told_of(policy, script))


def _mark(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode('ascii')).digest()).decode()}'"


def _told_of(policy: str, script: str) -> str:
    marks = " ".join(map(_mark, (script, _ADOPTS)))
    names = {words[0].lower(): words for part in policy.split(";") if (words := part.split())}
    # What a page is made of may be given to it as texts.
    names.pop("require-trusted-types-for", None)
    for name, more in (("script-src-elem", marks), ("script-src", marks), ("connect-src", TALK)):
        own = names.get(name) or names.get("default-src")
        if own is None or (name == "script-src-elem" and name not in names):
            continue
        names[name] = [name, *_widened(own[1:], more)]
    return "; ".join(" ".join(words) for words in names.values())


def _widened(sources: list[str], more: str) -> list[str]:
    """A hash takes back `'unsafe-inline'`, so where that holds it is not given."""
    marked = any(one.startswith(("'nonce-", "'sha")) for one in sources)
    if more.startswith("'sha") and "'unsafe-inline'" in sources and not marked:
        return sources
    if more == TALK:
        return sources if {"'self'", "*"} & {*sources} else [*(s for s in sources if s != "'none'"), "'self'"]
    return [*(s for s in sources if s != "'none'"), more]
