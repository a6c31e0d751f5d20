"""What a rule says of an address: yes, or no with the rule that said so."""

import msgspec


class Allowed(msgspec.Struct, frozen=True):
    pass


class Denied(msgspec.Struct, frozen=True):
    rule: str
    """The rule in words fit for a person: the robots line, the scope, the limit."""


Verdict = Allowed | Denied

ALLOWED = Allowed()
"""The one verdict that carries nothing, made once."""
