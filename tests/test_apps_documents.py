"""What becomes of documents and answers on their way to a browser."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from multidict import CIMultiDict

from moire.serve import documents
from moire.serve.archive import Archive, Exchange, digest
from moire.serve.documents import as_module, is_module, leaves_alone, place, shown, with_script


def answer(body: str, kind: str = "text/html", status: int = 200, **headers: str) -> Exchange:
    own = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Exchange(
        "GET", "http://a/x", "", status, (*own, *((("Content-Type", kind),) if kind else ())), body.encode()
    )


@pytest.mark.parametrize(
    ("body", "start"),
    [
        ("<p>", "<script"),
        ("<!DOCTYPE html><html lang=de><head><title>", "<!DOCTYPE html><html lang=de><head><script"),
        ("\ufeff<!-- a --> <!doctype html><p>", "\ufeff<!-- a --> <!doctype html><script"),
        ("<?xml version='1.0'?><!DOCTYPE html><p>", "<?xml version='1.0'?><!DOCTYPE html><script"),
        # What ends neither a tag nor a comment, and what ends one.
        ("<html x-data='{ a: b => 1 }'><title>", "<html x-data='{ a: b => 1 }'><script"),
        ("<!--><b>a</b><!-- --><title>", "<!--><script"),
        ("<!-- a --!><html><title>", "<!-- a --!><html><script"),
        ("<header>a</header><p>", "<script"),
    ],
)
def test_the_script_comes_before_all_that_runs_and_after_what_makes_the_page_standard(body: str, start: str) -> None:
    found = with_script(answer(body), "f()")[1].decode()
    assert found.startswith(start) and found.count("f()") == 1
    assert found.endswith(body.rpartition(">")[0].rpartition("<")[2] + ">")


def test_nothing_is_proven_that_is_not_what_it_was() -> None:
    page = """<script type="importmap">{"imports": {"a": "/a.js"}, "integrity": {"/a.js": "sha384-x"}}</script>
    <link rel=modulepreload integrity="sha384-x" href=/a.js><script>let integrity = "sha384-x";</script>"""
    found = with_script(answer(page), "f()")[1].decode()
    assert '{"imports": {"a": "/a.js"}}</script>' in found and '<script>let integrity = "sha384-x";' in found
    assert found.count("sha384-x") == 1


def test_frames_that_are_given_as_text_are_adopted() -> None:
    found = with_script(
        answer("<p><iframe title='a > b' srcdoc=\"<p>x\"></iframe><iframe src=/srcdoc=></iframe>"), "f()"
    )[1]
    assert found.count(b"adopt(window)") == 1 and b'srcdoc="&lt;script&gt;try' in found
    assert not {'"', "'", "&"} & {*documents.ADOPTING}
    # Not where it is text.
    text = "<script>x.innerHTML = '<iframe srcdoc=\"<p>\"></iframe>'</script><!-- <iframe srcdoc='a'> -->"
    assert with_script(answer(text), "f()")[1].endswith(text.encode())


def test_scripts_in_pages_of_xml_are_well_formed() -> None:
    from xml.etree import ElementTree

    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>a</title></head><body/></html>'
    found = with_script(answer(page, "application/xhtml+xml"), "a && b < c")[1]
    (script,) = [one for one in ElementTree.fromstring(found).iter() if one.tag.endswith("script")]
    assert script.text == "a && b < c"


def test_policies_let_the_script_in_wherever_they_stand() -> None:
    policy = "default-src 'none'; require-trusted-types-for 'script'"
    page = f'<!DOCTYPE html><meta http-equiv=Content-Security-Policy content="{policy}">'
    headers, body = with_script(answer(page, Content_Security_Policy=policy), "f()")
    for told in (headers["Content-Security-Policy"], body.decode().replace("&#x27;", "'")):
        assert "script-src 'sha256-" in told and "connect-src 'self'" in told and "trusted-types" not in told


def test_scripts_that_may_come_at_any_time_come_in_order() -> None:
    page = """<script async src=a></script><script src=b async="async" integrity="sha384-x"></script>
    <script>async = 1</script>
    <img async src=c><script src="x async y"></script>"""
    found = with_script(answer(page), "f()")[1].decode()
    assert "<script defer src=a>" in found and "<script src=b defer >" in found and "<script>async = 1" in found
    assert "<img async" in found and "integrity" not in found


def test_modules_say_that_they_run() -> None:
    asked = {"Sec-Fetch-Dest": "script", "Sec-Fetch-Mode": "cors"}
    assert is_module(asked) and not is_module({**asked, "Sec-Fetch-Mode": "no-cors"})
    line = b'globalThis.__moire && __moire.module("http://a/x");'
    assert as_module(answer("f()", "text/javascript")) == line + b"f()"
    assert as_module(answer("/* a */ 'use strict'; f()", "text/javascript")).startswith(b'"use strict";' + line)
    assert as_module(answer("{}", "application/json")) == b"{}"


@pytest.mark.parametrize(
    "part",
    [
        "/** @typedef */\n", "<meta ", "<script ", "<script src ", "<!--", "<?", "/*", " ", "integrity ", "<?xml>",
        "<script type=importmap>", "<script type=importmap ", "<iframe '", '<iframe srcdoc="', '<html x="', "<html a ",
        "<textarea>", "<style>", "<!-->", "\" 'x", "<meta http-equiv=content-security-policy content='",
    ],
)  # fmt: skip
def test_no_page_holds_up_the_proxy(part: str) -> None:
    """Looking through one takes no longer than it is long: it would take hours of these otherwise."""
    body = part * (1_000_000 // len(part))
    begun = time.process_time()
    as_module(answer(body, "text/javascript"))
    for before in ("", "<html "):
        with_script(answer(before + body), "f()")
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=utf-16le", "application/xhtml+xml"])
def test_pages_whose_letters_have_two_bytes_are_read_as_they_were(kind: str) -> None:
    body = "<!DOCTYPE html><p>é".encode("utf-16-le" if "16le" in kind else "utf-16")
    headers, found = with_script(replace(answer("", kind), body=body), "f()")
    assert headers["Content-Type"].endswith("; charset=utf-8") and found.decode().endswith("</script><p>é")


def test_where_a_document_is_shown() -> None:
    assert place({"Sec-Fetch-Dest": "document"}) == "window" and place({"Sec-Fetch-Dest": "iframe"}) == "frame"
    assert place({"Sec-Fetch-Dest": "empty", "Upgrade-Insecure-Requests": "1"}) == "" == place({})
    # Browsers say less to those whom they do not trust.
    assert place(CIMultiDict({"upgrade-insecure-requests": "1"})) == "either"


def test_files_are_shown_as_pages() -> None:
    assert shown(answer("<p>")) == answer("<p>") and shown(answer("<p>", "")) == answer("<p>", "")
    text = shown(answer('{"a": "<b>"}', "application/json"))
    assert b"&lt;b&gt;" in text.body and documents.is_page(text)
    assert b"image/png: 3 bytes" in shown(answer("abc", "image/png")).body
    assert leaves_alone(answer("", status=204)) and leaves_alone(answer("", status=302))
    assert leaves_alone(answer("a", Content_Disposition="Attachment; filename=a")) and not leaves_alone(answer("a"))


def test_answers_come_again_in_their_order_and_by_their_address_if_need_be() -> None:
    def exchange(asked: str, body: str) -> Exchange:
        return Exchange("POST", "http://a/", digest(asked.encode()), 200, (), body.encode())

    archive = Archive([exchange("a", "1"), exchange("a", "2"), exchange("b", "3")])

    def asks(body: str) -> str:
        found = archive.answer("POST", "http://a/", body.encode())
        assert found is not None
        return found.body.decode()

    assert [asks("a"), asks("b"), asks("a"), asks("a")] == ["1", "3", "2", "2"]
    # Bodies may be of chance, as that of a form with its boundaries is.
    assert [asks("c"), asks("d")] == ["1", "2"]
    assert archive.answer("GET", "http://a/", b"") is None
