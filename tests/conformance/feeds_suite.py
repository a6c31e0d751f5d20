"""The claims of the feedparser corpus, compared with our reading of the same bytes.

A claim is a Python expression over feedparser's names. It is parsed, never evaluated by Python: only comparisons,
subscripts, attributes, constants and a few known calls are supported. Of each row the parts about links, ids, dates and
titles are compared; a row without such a part is not applicable.
"""

import ast
import base64
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from gossamer.base.clock import SECOND
from gossamer.parse.feeds import Feed, FeedItem, FeedLink, parse_feed, parse_json_feed
from gossamer.values.url import Url, url_of

SERVER = "http://127.0.0.1:8097/tests/"
DATES = ("updated", "published", "created", "expired")
OURS = {
    "title": "titles",
    "title_detail": "titles",
    "link": "links",
    "links": "links",
    "enclosures": "links",
    "id": "ids",
    "guid": "ids",
    "ttl": "dates",
    **{f"{name}{ending}": "dates" for name in DATES for ending in ("", "_parsed")},
}
"""Names in the corpus that we support, and the group in which each is counted."""
NOT_OURS = ("language", "base", "type")
"""Properties of a title other than its text."""


class Title(str):
    """A title of ours, which is plain text. The corpus may have markup: then only its text is compared."""

    def agrees(self, claim: object) -> bool:
        return isinstance(claim, str) and str(self) in (" ".join(claim.split()), words_in(claim))


class UrlText(str):
    def agrees(self, claim: object) -> bool:
        return isinstance(claim, str) and (str(self) == claim or url_of(self) == url_of(claim) != None)  # noqa: E711


class InstantValue(int):
    """An instant of ours, compared with a time tuple or with a date as parsed by the standard library."""

    def agrees(self, claim: object) -> bool:
        if isinstance(claim, tuple):
            return datetime.fromtimestamp(self / SECOND, UTC).timetuple()[:6] == claim[:6]
        return isinstance(claim, str) and read_date(claim) == datetime.fromtimestamp(self / SECOND, UTC)


def read_date(text: str) -> datetime:
    return datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)


class _MarkupText(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


def words_in(markup: str) -> str:
    reader = _MarkupText()
    reader.feed(markup)
    reader.close()
    return " ".join("".join(reader.texts).split())


def rows(home: Path) -> list[dict[str, Any]]:
    with (home / "feedparser.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def body_of(row: dict[str, Any]) -> bytes:
    return base64.b64decode(row["body_base64"]) if "body_base64" in row else row["body"].encode("utf-8", "replace")


def read(row: dict[str, Any]) -> Feed:
    headers = {name.lower(): value for name, value in row.get("headers", {}).items()}
    url = url_of(SERVER + row["path"])
    assert url is not None
    base = url_of(headers.get("content-location", ""), url) or url
    body, kind = body_of(row), headers.get("content-type", "application/xml")
    return parse_json_feed(body, base) if body.lstrip()[:1] == b"{" else parse_feed(body, base, kind)


def parts_of(row: dict[str, Any]) -> list[tuple[str, ast.expr]]:
    """The parts of a row's claim that belong to our groups, each with its group."""
    text = re.sub(r"\s*-->.*\Z", "", row["expect"], flags=re.DOTALL)
    claim = ast.parse(text.strip(), mode="eval").body
    parts = claim.values if isinstance(claim, ast.BoolOp) and isinstance(claim.op, ast.And) else [claim]
    return [(group, part) for part in parts if (group := group_of(part)) is not None]


def group_of(part: ast.expr) -> str | None:
    groups = {group for path in paths_in(part) for group in [group_of_path(path)]}
    return groups.pop() if len(groups) == 1 else None


def group_of_path(path: tuple[object, ...]) -> str | None:
    names = [name for name in path if isinstance(name, str)]
    if len(names) < 2 or names[0] not in ("feed", "entries") or "source" in names or names[-1] in ("has_key", "get"):
        return None
    if names[1].startswith("title") and names[-1] in NOT_OURS:
        return None
    return OURS.get(names[1])


def paths_in(node: ast.AST) -> Iterator[tuple[object, ...]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "has_key":
        key = node.args[0]
        yield (*path_of(node.func.value), key.value if isinstance(key, ast.Constant) else "?")
    elif isinstance(node, ast.Subscript | ast.Attribute):
        yield path_of(node)
    elif isinstance(node, ast.Name) and node.id != "len":
        yield (node.id,)
    else:
        for child in ast.iter_child_nodes(node):
            yield from paths_in(child)


def path_of(node: ast.AST) -> tuple[object, ...]:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return (*path_of(node.value), node.slice.value)
    if isinstance(node, ast.Attribute):
        return (*path_of(node.value), node.attr)
    return (node.id,) if isinstance(node, ast.Name) else ("?",)


def holds(part: ast.expr, feed: Feed) -> bool:
    try:
        return bool(value_of(part, {"feed": feed_values(feed), "entries": [item_values(i) for i in feed.entries]}))
    except (KeyError, IndexError):
        return False


def value_of(node: ast.expr, names: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.Tuple(elts=parts):
            return tuple(value_of(part, names) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return {value_of(k, names): value_of(v, names) for k, v in zip(keys, values, strict=True) if k is not None}
        case ast.Subscript(value=value, slice=key):
            found, name = value_of(value, names), value_of(key, names)
            return found[name if name != "url" else "href"]  # the corpus has two names for it
        case ast.Attribute(value=value, attr=name):
            return value_of(value, names)[name]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not value_of(operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(value_of(part, names) for part in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(value_of(part, names) for part in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return value_of(left, names) + value_of(right, names)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(isinstance(op, ast.Eq) for op in ops):
            return all(agree(value_of(left, names), value_of(other, names)) for other in others)
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            return len(value_of(counted, names))
        case ast.Call(func=ast.Attribute(value=value, attr="has_key"), args=[key]):
            return value_of(key, names) in value_of(value, names)
    raise NotImplementedError(ast.dump(node))


def agree(ours: Any, claim: Any) -> bool:
    if isinstance(ours, dict) and isinstance(claim, dict):
        return ours.keys() == claim.keys() and all(agree(ours[name], claim[name]) for name in ours)
    return bool(ours.agrees(claim)) if hasattr(ours, "agrees") else bool(ours == claim)


def feed_values(feed: Feed) -> dict[str, Any]:
    values = shared_values(feed.title, feed.id, feed.url, feed.links)
    values |= moments("published", feed.published_at) | moments("created", feed.published_at)
    values |= moments("updated", feed.updated_at)
    return values | ({"ttl": str(round(feed.ttl_s / 60))} if feed.ttl_s is not None else {})


def item_values(item: FeedItem) -> dict[str, Any]:
    values = shared_values(item.title, item.id, item.url, item.links)
    values |= moments("published", item.published_at) | moments("created", item.published_at)
    return values | moments("updated", item.updated_at) | moments("expired", item.expires_at)


def shared_values(title: str, name: str, url: Url | None, links: tuple[FeedLink, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"title": Title(title), "title_detail": {"value": Title(title)}}
    if name:
        found |= {"id": name, "guid": name}
    if url is not None:
        found["link"] = UrlText(url.text)
    found["links"] = [link_values(link) for link in links]
    enclosures = [link_values(link) for link in links if link.rel == "enclosure"]
    found["enclosures"] = [{k: v for k, v in one.items() if k != "rel"} for one in enclosures]
    return found


def link_values(link: FeedLink) -> dict[str, Any]:
    named = {"rel": link.rel, "type": link.media_type, "title": link.title, "hreflang": link.language}
    kept = {name: value for name, value in (named | {"length": link.length}).items() if value}
    return kept | {"href": UrlText(link.href)}


def moments(name: str, at: int | None) -> dict[str, Any]:
    return {} if at is None else {name: InstantValue(at), f"{name}_parsed": InstantValue(at)}
