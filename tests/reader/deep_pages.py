"""Pages with a given depth of nesting or chains, one for each parser that `extract` uses; read in a separate process.

`python deep_pages.py DEPTH STACK_BYTES` prints the flags of each. A stack of 0 is that of the main thread.
"""

import json
import sys
import threading

import gossamer

HTML = "text/html"


def script(text: str) -> tuple[str, str]:
    return f'<html><script type="application/ld+json">{text}</script>', HTML


def chained(count: int, **extra: str) -> tuple[str, str]:
    """JSON-LD in which each term is defined by the next, in the members of `extra`."""
    if extra:
        terms: dict[str, object] = {
            f"t{at}": {key: value.format(at + 1) for key, value in extra.items()} for at in range(count)
        }
    else:
        terms = {f"t{at}": f"t{at + 1}:x" for at in range(count)}
    return script(json.dumps({"@context": {**terms, f"t{count}": "http://e/"}, "t0": "x", "t0:a": "b"}))


def pages(count: int) -> dict[str, tuple[str, str]]:
    def deep(opening: str, closing: str, inside: str = "") -> str:
        return opening * count + inside + closing * count

    cycle = {f"t{at}": f"t{(at + 1) % count}:x" for at in range(count)}
    scoped = deep('{"t":{"@id":"http://e/t","@context":', "}}", "{}")
    itemrefs = "".join(f"<p itemscope id=i{at} itemprop=a itemref=i{at + 1}>" for at in range(count))
    return {
        "array": script(deep("[", "]")),
        "object": script(deep('{"http://e/a":', "}", "1")),
        "graph": script(deep('{"@graph":[', "]}")),
        "list": script('{"http://e/a":' + deep('{"@list":[', "]}") + "}"),
        "reverse": script(deep('{"@reverse":{"http://e/a":', "}}", '"x"')),
        "included": script(deep('{"@included":[', "]}")),
        "nest": script(deep('{"@nest":', "}", "{}")),
        "json": script('{"http://e/a":{"@type":"@json","@value":' + deep("[", "]") + "}}"),
        "context": script(deep('{"@context":{"t":{"@id":"http://e/t","@context":', "}}}", "{}")),
        "scoped": script('{"@context":' + scoped + ',"t":' + deep('{"t":', "}", "1") + "}"),
        "repaired": script(deep("{a:", "}", "1")),
        "chain": chained(count),
        "chain of @id": chained(count, **{"@id": "t{}"}),
        "chain of @type": chained(count, **{"@id": "http://e/x", "@type": "t{}"}),
        "cycle": script(json.dumps({"@context": cycle, "t0:a": "b"})),
        "html": ("<div>" * count, HTML),
        "html formatting": ("<b><p>" * count, HTML),
        "html tables": ("<table><tr><td>" * count, HTML),
        "html templates": ("<template>" * count, HTML),
        "svg in html": ("<svg>" * count, HTML),
        "microdata": ("<div itemscope itemprop=a>" * count, HTML),
        "itemref": (itemrefs, HTML),
        "microformats": ('<div class="h-card p-author">' * count, HTML),
        "rdfa": ("<div typeof=a:b rel=http://e/a>" * count, HTML),
        "xml literal": ("<div property=http://e/a datatype=rdf:XMLLiteral>" + "<b>" * count, HTML),
        "xhtml": (deep("<div xmlns='http://www.w3.org/1999/xhtml'>", "</div>"), "application/xhtml+xml"),
        "xml": (deep("<a>", "</a>"), "application/xml"),
        "entities": (f"<!DOCTYPE a [<!ELEMENT a {deep('(', ')', 'b')}>]><a/>", "application/xml"),
    }


def main(count: int, stack: int) -> None:
    def read() -> None:
        for name, (text, media_type) in pages(count).items():
            print(f"{name}: {' '.join(gossamer.extract(text.encode(), 'http://e/', media_type).flags)}", flush=True)

    if not stack:
        read()
        return
    threading.stack_size(stack)
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
