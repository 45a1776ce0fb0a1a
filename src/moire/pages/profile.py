"""Profiles: parts of the web's grammar that pages may be made of, by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ..grammar.model import Node, Reference, bare, children, choices
from ..nouns import UsageError
from .spec import web


@dataclass(frozen=True)
class Profile:
    about: str
    # All of them, if None.
    elements: frozenset[str] | None
    attributes: frozenset[str] | None
    properties: frozenset[str] | None
    no_elements: frozenset[str]
    no_attributes: frozenset[str]
    no_properties: re.Pattern[str]
    no_rules: frozenset[str]
    no_words: frozenset[str]
    # Whether style sheets have plain rules only.
    plain_rules: bool

    def element(self, name: str) -> bool:
        return name not in self.no_elements and (self.elements is None or name in self.elements)

    def attribute(self, name: str) -> bool:
        return name not in self.no_attributes and (self.attributes is None or name in self.attributes)

    def property(self, name: str) -> bool:
        return not self.no_properties.fullmatch(name) and (self.properties is None or name in self.properties)


def _text() -> str:
    return (resources.files("moire.pages") / "data" / "profiles.toml").read_text("utf-8")


@cache
def profiles() -> Mapping[str, Profile]:
    return {name: _read(table) for name, table in tomllib.loads(_text()).items()}


def _read(table: Mapping[str, str]) -> Profile:
    def words(key: str) -> frozenset[str]:
        return frozenset(table.get(key, "").split())

    pattern = "|".join(re.escape(name).replace(r"\*", ".*") for name in sorted(words("no-properties")))
    return Profile(
        table["about"], words("elements") or None, words("attributes") or None, words("properties") or None,
        words("no-elements"), words("no-attributes"), re.compile(pattern or "(?!)"), words("no-rules"),
        words("no-words"), table.get("rules") == "plain",
    )  # fmt: skip


def profile(name: str) -> Profile:
    try:
        return profiles()[name]
    except KeyError:
        raise UsageError(f"There is no profile {name!r}.", f"The profiles are {', '.join(profiles())}.") from None


def shaped(weights: Mapping[str, int], name: str) -> dict[str, int]:
    """Weights under which only what a profile has is made, as far as these weights make it at all."""
    chosen = profile(name)
    return web.remembered(f"profile {name}", weights, _text(), lambda: _shaped(dict(weights), chosen))


def _shaped(weights: dict[str, int], chosen: Profile) -> dict[str, int]:
    grammar = web.grammar()
    blocked = set(chosen.no_rules)
    blocked |= {rule for rule in grammar.rules if _is_element(rule) and not chosen.element(rule.removeprefix("html-"))}
    for path, choice in choices(grammar):
        rule, *inner = path.split("/")
        for edge, child in children(path, choice):
            if rule == "declaration" and not inner:
                refused = not chosen.property(web.first_text(child).removesuffix(":"))
            elif rule.endswith(".attribute") and not inner:
                refused = not chosen.attribute(web.first_text(child).split("=")[0])
            elif rule == "rule":
                named = web.first_text(child).partition("{")[0].partition(" ")[0]
                refused = named in chosen.no_words or (chosen.plain_rules and not _leads_to(child, "plain-rule"))
            elif rule == "tag":
                refused = not chosen.element(web.first_text(child))
            else:
                refused = web.first_text(child) in chosen.no_words
            if refused:
                weights[edge] = 0
    return web.pinched(grammar, weights, blocked)


def _is_element(rule: str) -> bool:
    return rule.startswith("html-") and not rule.endswith(".attribute")


def _leads_to(node: Node, rule: str) -> bool:
    node = bare(node)
    return isinstance(node, Reference) and node.rule == rule
