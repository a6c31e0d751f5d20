"""Every behaviour of the hostile web, by subject; importing this registers them all."""

from tests.hostile.behaviours import codings, connections, framing, heads, redirects

__all__ = ["codings", "connections", "framing", "heads", "redirects"]
