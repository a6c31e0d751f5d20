"""Microformats as the canonical JSON that the public test suite expects."""

from collections.abc import Sequence
from typing import Any

from gossamer.extract.microformats.reader import PageMicroformats, items_of
from gossamer.extract.microformats.tree import resolved
from gossamer.extract.microformats.values import Html, Image, Value
from gossamer.values.tree import ElementParts, Survey

Json = dict[str, Any]


def parsed(survey: Survey, base: str) -> Json:
    """The page as canonical JSON: `items`, `rels`, `rel-urls`. REQUIRES: `base` is an http(s) URL."""
    items = _as_json(items_of(survey.every(), base))
    rels, rel_urls = _relations(survey.elements, base)
    return {"items": items, "rels": rels, "rel-urls": rel_urls}


def _as_json(found: PageMicroformats) -> list[Json]:
    written: dict[int, Json] = {}
    for item in reversed(found.every):
        properties: dict[str, list[Any]] = {}
        for one in item.properties:
            value = _plain(one.value)
            if one.nested is not None:
                value = written[id(one.nested)] | (value if isinstance(one.value, Html) else {"value": value})
            properties.setdefault(one.name, []).append(value)
        entry: Json = {"type": list(item.types), "properties": properties}
        if item.children:
            entry["children"] = [written[id(child)] for child in item.children]
        if not item.old and (own_id := item.region.attributes[item.number].get("id")):
            entry["id"] = own_id
        written[id(item)] = entry
    return [written[id(item)] for item in found.outermost]


def _plain(value: Value) -> Any:
    return value._asdict() if isinstance(value, Html | Image) else value


def _relations(elements: Sequence[ElementParts], base: str) -> tuple[dict[str, list[str]], dict[str, Json]]:
    rels: dict[str, list[str]] = {}
    rel_urls: dict[str, Json] = {}
    for element, tag, attributes in elements:
        words = (attributes.get("rel") or "").split()
        if not words or tag not in ("a", "area", "link") or "href" not in attributes:
            continue
        url = resolved(attributes["href"] or "", base)
        for word in words:
            targets = rels.setdefault(word, [])
            if url not in targets:
                targets.append(url)
        known = rel_urls.setdefault(url, {"rels": []})
        known["rels"] = sorted({*known["rels"], *words})
        for name in ("hreflang", "media", "title", "type"):
            if name in attributes:
                known.setdefault(name, attributes[name] or "")
        if tag != "link":
            known.setdefault("text", element.text())
    return rels, rel_urls
