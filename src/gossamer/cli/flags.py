"""Flags that several commands take, with their help."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, Token

from gossamer.config.settings import Settings
from gossamer.store.address import folder_named
from gossamer.store.directory import DEFAULT
from gossamer.store.options import config_of


def folder_given(_type: object, tokens: Sequence[Token]) -> Path:
    """The data directory, or the scratch folder of a cluster: a Path would make one slash of the two in an address."""
    return folder_named(tokens[0].value)


Dir = Annotated[
    Path, Parameter(help="The collection's data directory, or the address of a cluster.", converter=folder_given)
]
NewDir = Annotated[
    Path,
    Parameter(
        help="The collection's data directory, created if it does not exist; or the address of a cluster.",
        converter=folder_given,
    ),
]
ClusterAddress = Annotated[
    Path,
    Parameter(
        name="ADDRESS",
        help="The address of the cluster: that of its PostgreSQL database, such as postgresql://user@host/crawl.",
        converter=folder_given,
    ),
]
Json = Annotated[bool, Parameter(help="Print JSON.")]
PageSource = Annotated[str, Parameter(allow_leading_hyphen=True, help="A file, a URL, or - for standard input.")]
ContextFolder = Annotated[
    Path | None, Parameter(help="A folder with your own JSON-LD contexts and an index.toml: URL = file.")
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class FetchFlags:
    """How a command that is not a crawl fetches a page."""

    contact: Annotated[
        str | None, Parameter(help="For the web: a URL or email address where site owners can reach you.")
    ] = None
    allow_address: Annotated[
        tuple[str, ...], Parameter(help="For the web: allow a private address range, such as 10.1.0.0/16.")
    ] = ()
    delay: Annotated[float | None, Parameter(help="For the web: minimum seconds between robots.txt and the page.")] = (
        None
    )
    config: Annotated[Path | None, Parameter(help="For the web: a settings file.")] = None

    def settings(self) -> Settings:
        flags = {
            "contact": self.contact,
            "fetch.allow_addresses": list(self.allow_address) or None,
            "politeness.delay_s": self.delay,
        }
        return config_of(DEFAULT, self.config, flags).settings


NO_FETCH_FLAGS = FetchFlags()
