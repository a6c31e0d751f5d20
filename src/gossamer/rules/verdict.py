"""What a rule says of an address: yes, no with the rule that said so, or that a filter failed."""

import msgspec


class Allowed(msgspec.Struct, frozen=True):
    pass


class Denied(msgspec.Struct, frozen=True):
    rule: str
    """The rule in words fit for a person: the robots line, the scope, the limit."""


class FilterFailed(msgspec.Struct, frozen=True):
    """A filter of the user's own could not answer: neither yes nor no."""

    rule: str
    """The filter's name and its error."""


Verdict = Allowed | Denied

ALLOWED = Allowed()
"""The one verdict that carries nothing, made once."""
