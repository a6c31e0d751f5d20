"""The frame around what a page says: head, navigation, side bar, footer, inline style and script."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from gossamer.demo.markup import box, scripts, social
from gossamer.demo.things import NOTHING, Statements, Syntax

Way = tuple[str, str]
"""A link: where it leads, and its text."""


class PageFrame(NamedTuple):
    """What a page's surroundings are made of."""

    site_title: str
    motto: str
    navigation: Sequence[Way] = ()
    aside: Sequence[Way] = ()
    footer: Sequence[Way] = ()
    head: str = ""
    """Further elements for the head."""


class Leaf(NamedTuple):
    """A page before it is framed."""

    title: str
    language: str
    body: str
    statements: Statements = NOTHING
    description: str = ""


_STYLE = """:root{--ink:#20242b;--paper:#fdfcf8;--line:#d9d4c7;--link:#0b5c8a}
*{box-sizing:border-box}body{margin:0;font:17px/1.55 Georgia,serif;color:var(--ink);background:var(--paper)}
a{color:var(--link);text-decoration:none}a:hover,a:focus{text-decoration:underline}
header,footer{padding:1rem 4vw;border-bottom:1px solid var(--line)}
footer{border:0;border-top:1px solid var(--line);font-size:.85em}
nav ul{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;list-style:none;margin:.5rem 0 0;padding:0}
main{display:grid;grid-template-columns:minmax(0,3fr) minmax(12rem,1fr);gap:2rem;
padding:1.5rem 4vw;max-width:80rem;margin:auto}
.facts{background:#f4f0e4;border:1px solid var(--line);border-radius:.4rem;padding:1rem 1.4rem;margin-bottom:1.5rem}
.facts dl{display:grid;grid-template-columns:9rem 1fr;gap:.25rem 1rem}.facts dt{font-weight:bold}.facts dd{margin:0}
aside{font-size:.9em}aside li{margin:.3rem 0}figure{margin:0}img{max-width:100%;height:auto}
.teaser{border-bottom:1px dotted var(--line);padding:.6rem 0}.teaser h3{margin:.2rem 0}
@media (max-width:50rem){main{grid-template-columns:1fr}}"""
_SCRIPT = """(function(){var d=document,k='seen:'+location.pathname;
function mark(){try{var n=Number(localStorage.getItem(k)||0)+1;localStorage.setItem(k,String(n));
if(n<2&&d.body){d.body.setAttribute('data-first','yes')}}catch(e){}}
function open(e){var t=e.target;if(t&&t.className==='toggle'){var m=d.getElementById('menu');
m.hidden=!m.hidden;e.preventDefault()}}
d.addEventListener('click',open);if(d.readyState!=='loading'){mark()}else{d.addEventListener('DOMContentLoaded',mark)}})();"""


def framed(leaf: Leaf, frame: PageFrame) -> str:
    """The whole page."""
    statements = leaf.statements
    subject = ""
    if statements.things:
        syntax, thing = statements.things[0]
        subject = box(thing, None if syntax is Syntax.JSONLD else syntax)
    title = escape(leaf.title)
    heading = "" if "<h1" in subject else f"<h1>{title}</h1>\n"
    prefix = ' prefix="og: http://ogp.me/ns#"' if statements.social else ""
    return f"""<!DOCTYPE html>
<html lang="{leaf.language}">
<head{prefix}>
<meta charset="utf-8">
<title>{title} - {escape(frame.site_title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{escape(leaf.description or leaf.title)}">
{social(statements)}
<link rel="stylesheet" href="/style.css">
{frame.head}<style>{_STYLE}</style>
{scripts(statements)}
</head>
<body>
<header><p class="site"><a href="/">{escape(frame.site_title)}</a></p><p class="motto">{escape(frame.motto)}</p>
<nav id="menu"><ul>
{ways(frame.navigation)}
</ul></nav></header>
<main>
<article>
{heading}{subject}
{leaf.body}
</article>
<aside><h2>See also</h2><ul>
{ways(frame.aside)}
</ul></aside>
</main>
<footer><ul>
{ways(frame.footer)}
</ul><p>{escape(frame.site_title)}: all places, people and things here are made up.</p></footer>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def ways(links: Sequence[Way]) -> str:
    return "\n".join([f'<li><a href="{escape(href)}">{escape(text)}</a></li>' for href, text in links])
