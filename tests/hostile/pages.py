"""Pages that take a reader much time or memory: M1 deep or tangled, M2 one element many times. Made when needed."""

from collections.abc import Callable

ENTITIES = 10_000_000

M1: dict[str, Callable[[], bytes]] = {
    "depth_100k": lambda: b"<div>" * 100_000 + b"deep<a href=/deep>x</a>",
    "depth_1M": lambda: b"<div>" * 1_000_000,
    "depth_100k_of_list_items": lambda: b"<ul><li>" * 50_000 + b"deep",
    "depth_100k_of_tables": lambda: b"<table><tr><td>" * 33_000 + b"deep",
    "attributes_100k": lambda: b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">text",
    "attributes_on_thousands_of_tags": lambda: (b"<p " + b" ".join(b"a%d" % n for n in range(990)) + b">x</p>") * 3000,
    "attributes_given_to_html_again_and_again": lambda: b"".join(b"<html a%d=1>" % n for n in range(30_000)),
    "adoption_agency": lambda: b"<b><p>" * 5_000 + b"</b>" * 5_000,
    "adoption_agency_of_anchors": lambda: b"<a href=/x><b><div>" * 30_000 + b"</a>" * 30_000,
    "formatting_opened_again": lambda: (
        b"<p>" + b"".join(b"<b id=%d>" % n for n in range(500)) + b"</p>" + b"<p>x</p>" * 1_000_000
    ),
    "fonts_all_different": lambda: b"".join(b"<font size=%d>" % n for n in range(50_000)),
    "foster_parents": lambda: b"<table>" + b"<div>x" * 50_000,
    "foster_parents_of_siblings": lambda: b"<table>" + b"<div>x</div><tr>" * 60_000,
    "names_all_different": lambda: b"".join(b"<x%d></x%d>" % (n, n) for n in range(100_000)),
    "anchors_in_anchors": lambda: b"".join(b"<a href=/%d><object>" % n for n in range(250)) + b"x " * 1_000_000,
    "options": lambda: b"<select>" + b"<option>" * 300_000,
}
M2: dict[str, Callable[[], bytes]] = {
    "page_of_50_MB": lambda: b"<p>hello world, this is a page</p>" * 1_600_000,
    "comment_of_16_MB": lambda: b"<!--" + b"x" * 16_000_000,
    "script_of_16_MB": lambda: b"<script>" + b"<" * 16_000_000,
    "json_ld_of_16_MB": lambda: b"<script type=application/ld+json>" + b"[" * 16_000_000,
    "entities_10_million": lambda: b"&lt" * ENTITIES,
    "entities_without_meaning": lambda: b"&a" * 8_000_000,
    "nuls_300k": lambda: b"\0" * 300_000 + b"<p>a\0b</p>",
    "angles": lambda: b"<" * 16_000_000,
    "one_attribute_of_16_MB": lambda: b'<p a="' + b"x" * 16_000_000,
    "blanks_of_16_MB": lambda: b" \n" * 8_000_000,
    "paragraphs_5_million": lambda: b"<p>" * 5_000_000,
    "links_1_million": lambda: b"<a href=/x>" * 1_000_000,
    "title_of_10_MB": lambda: b"<title>" + b"x" * 10_000_000,
    "metas_100k": lambda: b"<meta name=robots content=x>" * 100_000,
}
