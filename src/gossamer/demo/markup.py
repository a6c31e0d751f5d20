"""Things as markup: RDFa Lite and Microdata inside the page, JSON-LD in a script."""

from html import escape

import msgspec

from gossamer.demo.things import (
    COERCED_TO_ADDRESSES,
    PREFIXES,
    SCHEMA,
    At,
    Day,
    Node,
    Number,
    Plain,
    Statements,
    Syntax,
    Value,
    iri_of,
)

_DECLARED = " ".join(f"{prefix}: {iri}" for prefix, iri in PREFIXES.items() if prefix != "og")
DOMAIN = "demo.test"
LABELS = {"artMedium": "Medium", "dateCreated": "Made", "foaf:knows": "Knows", "numberOfPages": "Pages", "isbn": "ISBN"}


def box(thing: Node, syntax: Syntax | None) -> str:
    """The fact box of the page's subject: heading and list, marked up in `syntax` when that is one inside the page."""
    about = _opening(thing, syntax, "")
    vocabulary = f' vocab="{SCHEMA}" prefix="{_DECLARED}"' if syntax is Syntax.RDFA else ""
    rows = "\n".join(_row(name, value, syntax) for name, value in thing.says if name != "name")
    title = next((value.words for name, value in thing.says if name == "name" and isinstance(value, Plain)), "")
    heading = f"<h1{_property(syntax, 'name')}>{escape(title)}</h1>\n" if title else ""
    return f'<section class="facts"{vocabulary}{about}>\n{heading}<dl>\n{rows}\n</dl>\n</section>'


def scripts(statements: Statements) -> str:
    return "\n".join(
        f'<script type="application/ld+json">{_json(thing)}</script>' for thing in statements.said_in(Syntax.JSONLD)
    )


def social(statements: Statements) -> str:
    return "\n".join(f'<meta property="{name}" content="{escape(value)}">' for name, value in statements.social)


def _row(name: str, value: Value, syntax: Syntax | None) -> str:
    label = LABELS.get(name) or name.rpartition(":")[2].capitalize()
    return f"<dt>{label}</dt><dd>{_value(name, value, syntax)}</dd>"


def _value(name: str, value: Value, syntax: Syntax | None) -> str:
    attribute = _property(syntax, name)
    match value:
        case Plain(words):
            return f"<span{attribute}>{escape(words)}</span>"
        case Number(number):
            return f"<b{attribute}>{number}</b>"
        case Day(day):
            return f'<time{attribute} datetime="{day}">{day}</time>'
        case At(address) if address.endswith(".svg"):
            return f'<img{attribute} src="{escape(address)}" alt="" width="320" height="240">'
        case At(address) if syntax is None and f".{DOMAIN}/" not in address:
            return f"<span>{escape(address)}</span>"  # no link of this web leads out of it
        case At(address):
            return f'<a{attribute} href="{escape(address)}">{escape(address)}</a>'
        case Node():
            return _nested(attribute, value, syntax)


def _nested(attribute: str, thing: Node, syntax: Syntax | None) -> str:
    inner = ", ".join(_value(name, value, syntax) for name, value in thing.says)
    page = thing.address.partition("#")[0]
    link = f' <a href="{escape(page)}">more</a>' if page else ""
    return f'<span class="part"{_opening(thing, syntax, attribute)}>{inner}{link}</span>'


def _opening(thing: Node, syntax: Syntax | None, attribute: str) -> str:
    address = escape(thing.address)
    match syntax:
        case Syntax.RDFA:
            return f'{attribute} typeof="{thing.type}"' + (f' resource="{address}"' if address else "")
        case Syntax.MICRODATA:
            named = f' itemid="{address}"' if address else ""
            return f'{attribute} itemscope itemtype="{iri_of(thing.type)}"{named}'
        case _:
            return ""


def _property(syntax: Syntax | None, name: str) -> str:
    match syntax:
        case Syntax.RDFA:
            return f' property="{name}"'
        case Syntax.MICRODATA:
            return f' itemprop="{name}"'
        case _:
            return ""


def _json(thing: Node) -> str:
    body = {"@context": "https://schema.org", **_object(thing)}
    # `</script>` inside a string must not end the element.
    return msgspec.json.encode(body).decode().replace("</", "<\\/")


def _object(thing: Node) -> dict[str, object]:
    made: dict[str, object] = {"@type": thing.type}
    if thing.address:
        made["@id"] = thing.address
    for name, value in thing.says:
        new = _plain(name, value)
        if name not in made:
            made[name] = new
        else:
            old = made[name]
            made[name] = [*old, new] if isinstance(old, list) else [old, new]
    return made


def _plain(name: str, value: Value) -> object:
    match value:
        case Plain(words):
            return words
        case Number(number):
            return number
        case Day(day):
            return day
        case At(address):
            return address if name in COERCED_TO_ADDRESSES else {"@id": address}
        case Node():
            return _object(value)
