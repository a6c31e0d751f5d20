"""When a page comes again, and why then: for `gossamer why`. Pure."""

import msgspec

from gossamer.base.clock import Instant
from gossamer.values.format import counted, moment
from gossamer.values.history import IN_WORDS, Past, Why

WAITED_FOR = {
    "vanished": "it is gone, and is checked less and less often",
    "broken": "it fails, and is retried less and less often",
    "refused": "a rule rejects it; the rule is checked again then",
}
HUB = 0.5
"""New pages of late above which a page is shown as one that leads to new pages."""


class RevisitPlan(msgspec.Struct, frozen=True):
    """What is remembered of a page that comes again."""

    due_at: Instant
    why: str
    """A stable code (`values.history.Why`, or how its absence is waited for)."""
    says: str
    visits: int
    """Those that could find a change; the first is none."""
    changed_at: Instant | None
    """The last visit that found a change that counts."""
    links_changed: int | None = None
    """At the last look at the pages it links to: how many of them had changed since its own visit,"""
    links: int | None = None
    """of how many,"""
    threshold: int | None = None
    """and what per cent would have called it."""
    new_pages: float = 0.0
    """New pages that its visits led to, those of long ago counting less."""

    @property
    def leads(self) -> bool:
        return self.new_pages >= HUB


def again_of(past: Past) -> RevisitPlan:
    look = past.look
    return RevisitPlan(
        due_at=past.due_at,
        why=past.why,
        says=says_of(past),
        visits=past.known.visits,
        changed_at=past.changed_at or None,
        links_changed=look.changed if look is not None else None,
        links=look.links if look is not None else None,
        threshold=look.threshold if look is not None else None,
        new_pages=past.new_pages,
    )


def says_of(past: Past) -> str:
    look = past.look
    if past.why == Why.LINKS and look is not None:
        return (
            f"revisited sooner: {look.changed} of {counted(look.links, 'page')} it links to "
            f"{'has' if look.changed == 1 else 'have'} changed (threshold {look.threshold} %)"
        )
    if past.why in WAITED_FOR:
        return WAITED_FOR[past.why]
    return IN_WORDS[Why(past.why)] if past.why in set(Why) else "it is due"


def in_words(again: RevisitPlan, now: Instant) -> list[str]:
    lines = [f"revisit {moment(again.due_at, now)}: {again.says}"]
    if again.why != Why.LINKS and again.links:
        lines.append(
            f"  {again.links_changed} of {counted(again.links, 'page')} it links to had changed at the last check; "
            f"{again.threshold} % would trigger a revisit"
        )
    changed = f", the last change found {moment(again.changed_at, now)}" if again.changed_at is not None else ""
    lines.append(f"  revisited {counted(again.visits, 'time')}{changed}")
    if again.leads:
        lines.append(f"  a hub: its fetches have led to new pages (about {again.new_pages:.1f} recently)")
    return lines
