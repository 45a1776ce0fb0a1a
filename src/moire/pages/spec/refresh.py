"""The snapshot made anew from the packages that the web's specifications are published in.

Only what pages are made of is kept: names, syntaxes, and since when each engine has them.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .snapshot import FILE

PACKAGES = ("@webref/css", "@webref/elements", "@mdn/browser-compat-data")
# How the compatibility data calls the engines.
_ENGINES = {"chromium": "chrome", "firefox": "firefox", "webkit": "safari"}
# Specifications whose elements a page shows; the others propose, or need a device.
_MARKUP = {
    "html": ("html",),
    "svg": ("SVG2", "SVG11", "css-masking-1", "filter-effects-1", "svg-paths"),
    "mathml": ("mathml-core",),
}

Json = dict[str, Any]
# From a package's name (and version, if there is a wish) to its tarball and exact version.
Fetch = Callable[[str], tuple[Path, str]]


def refresh(fetch: Fetch, target: Path = FILE) -> Json:
    """Write the snapshot, and give the versions and hashes it was made from."""
    files: dict[str, dict[str, bytes]] = {}
    sources: Json = {}
    for package in PACKAGES:
        tarball, version = fetch(package)
        data = tarball.read_bytes()
        sources[package] = {"version": version, "sha512": hashlib.sha512(data).hexdigest()}
        with tarfile.open(tarball) as archive:
            files[package] = {
                member.name.removeprefix("package/"): read.read()
                for member in archive
                if member.name.endswith(".json") and (read := archive.extractfile(member)) is not None
            }
    css = json.loads(files["@webref/css"]["css.json"])
    compat = json.loads(files["@mdn/browser-compat-data"]["data.json"])
    markup = {
        space: [e for name in names for e in json.loads(files["@webref/elements"][f"{name}.json"])["elements"]]
        for space, names in _MARKUP.items()
    }
    whole = {"sources": sources, **_css(css, compat["css"]), "elements": _elements(markup, compat)}
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"), indent=0) + "\n")
    return sources


def _css(css: Json, compat: Json) -> Json:
    properties = {}
    for one in css["properties"]:
        known = compat["properties"].get(one["name"], {}).get("__compat")
        legacy = "legacyAliasOf" in one
        properties[one["name"]] = {
            "syntax": one.get("syntax", ""), "initial": one.get("initial", ""), **_facts(known, legacy=legacy),
            **({"longhands": one["longhands"]} if one.get("longhands") else {}),
        }  # fmt: skip
    selectors = {
        one["name"]: {"syntax": one.get("syntax", one["name"]), **_facts(_selector(compat["selectors"], one["name"]))}
        for one in css["selectors"]
    }
    rules = {
        one["name"]: {
            "descriptors": {d["name"]: d.get("syntax", "") for d in one["descriptors"]},
            **_facts(compat["at-rules"].get(one["name"][1:], {}).get("__compat")),
        }
        for one in css["atrules"]
    }
    return {
        "properties": properties, "types": _syntaxes(css["types"]), "functions": _syntaxes(css["functions"]),
        "selectors": selectors, "atrules": rules,
    }  # fmt: skip


def _syntaxes(defined: Iterable[Json]) -> dict[str, str]:
    """Of several definitions of a name, the one that is for everybody."""
    found: dict[str, str] = {}
    for one in sorted(defined, key=lambda d: "for" in d):
        if one.get("syntax"):
            found.setdefault(one["name"], one["syntax"])
    return found


def _selector(compat: Json, name: str) -> Json | None:
    plain = re.sub(r"^:+", "", name)
    function = plain.removesuffix("()") + "function"
    key = function if plain.endswith("()") and function in compat else plain.removesuffix("()")
    found: Json | None = compat.get(key, {}).get("__compat")
    return found


def _facts(compat: Json | None, *, legacy: bool = False) -> Json:
    """Standard, experimental or legacy; and the first version of each engine that has it."""
    if compat is None:
        return {"status": "legacy" if legacy else "experimental", "since": {}}
    status = compat.get("status", {})
    since = {
        engine: version
        for engine, browser in _ENGINES.items()
        if (version := _since(compat.get("support", {}).get(browser))) is not None
    }
    if legacy or status.get("deprecated"):
        kind = "legacy"
    elif status.get("experimental") or not status.get("standard_track") or not since:
        kind = "experimental"
    else:
        kind = "standard"
    return {"status": kind, "since": since}


def _since(support: Any) -> float | None:
    for one in support if isinstance(support, list) else [support or {}]:
        added = one.get("version_added")
        plain = not any(key in one for key in ("flags", "prefix", "alternative_name", "version_removed"))
        if plain and isinstance(added, str) and (found := re.fullmatch(r"≤?(\d+(?:\.\d+)?).*", added)):
            return float(found[1])
    return None


def _elements(markup: Mapping[str, list[Json]], compat: Json) -> Json:
    found: Json = {}
    for space, elements in markup.items():
        known = compat[space]["elements"]
        shared = _attributes(compat[space].get("global_attributes", {}))
        found[space] = {"": {"status": "standard", "since": {}, "attributes": shared}}
        for one in elements:
            about = known.get(one["name"], {})
            facts = _facts(about.get("__compat"), legacy=bool(one.get("obsolete")))
            found[space].setdefault(one["name"], {**facts, "attributes": _attributes(about)})
    return found


def _attributes(about: Json) -> Json:
    """An element's attributes, with the values that the data lists among them."""
    found: Json = {}
    for name, inner in about.items():
        if name.startswith("__") or "__compat" not in inner or not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_:-]*", name):
            continue
        if kind := re.fullmatch(r"type_([a-z-]+)", name):
            found.setdefault("type", {"status": "standard", "since": {}, "values": []})["values"].append(kind[1])
            continue
        if "_" in name:
            continue
        values = [key for key in inner if re.fullmatch(r"[a-z][a-z0-9-]*", key)]
        found[name] = {**_facts(inner["__compat"]), "values": values}
    return found
