"""Where the names of the demonstration web lead: to one server on this machine."""

from gossamer.demo.web import DemoWeb
from gossamer.fetch.address_plan import AddressPlan


def address_plan(web: DemoWeb, port: int) -> AddressPlan:
    """Every host of `web` on port 80; one of the names that pages link to is in no plan and does not resolve."""
    return AddressPlan({name: {80: port} for name in web.host_names})
