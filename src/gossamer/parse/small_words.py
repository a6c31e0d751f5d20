"""The small words of the languages that most of the web is written in: no text does without them, and to look for them
costs a quarter of what asking the model does, whose tables no cache holds.

None stands here that a neighbour writes alike and as often: not Spanish `que`, which is Portuguese and French too.
"""

LISTEN = 1000
"""Characters that are looked at."""
LEAST_KINDS = 4
LEAST_SHARE = 0.1
"""Of the words: a sentence in another language, as menus and notices have it, is not what the page is written in."""

_WORDS = {
    "en": "the of and that with for this from are was which have been by his her their would there about into",
    "de": "der die das und ist nicht mit auf ein eine von dem für auch werden wird sich einer sind oder",
    "fr": "les des est dans une pour qui avec pas au aux cette sont nous vous leur ces mais être où",
    "es": "los las una con del por y pero más muy este esta también está son como sus fue han según",
    "it": "il di che della sono non gli nel è più anche questo delle alla dei nella degli ed stato dal",
    "pt": "uma não com em mais também são pela foi pelo das muito você ou seu sua até já à às",
    "nl": "een niet zijn wordt naar deze bij heeft worden door onze deel hun wij werd hebben zich kunnen nog",
    "pl": "się nie jest oraz przez dla które może być także jako który po od ich tym jego czy roku lub",
    "ru": "что это также его она они был чтобы если только было были быть еще или для их года этом когда",
}
_KNOWN = {tag: frozenset(words.split()) for tag, words in _WORDS.items()}


def is_full_of(tag: str, text: str) -> bool:
    """Whether the text has the small words of this language; False too where the language is none of these."""
    known = _KNOWN.get(tag)
    if known is None:
        return False
    words = text[:LISTEN].lower().split()
    found = list(filter(known.__contains__, words))
    return len(found) >= LEAST_SHARE * len(words) and len(set(found)) >= LEAST_KINDS
