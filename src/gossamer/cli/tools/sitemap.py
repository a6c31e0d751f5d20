"""`gossamer sitemap`: a sitemap for a folder of files, as its web server would show them."""

import json as json_format
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.lab.sitemap import Made, SitemapChoice, choose, earlier, files_of
from gossamer.values.url import Url, url_of

READABLE = 0o644
"""What the program writes for itself is private; this is for a web server to show."""


def sitemap(
    directory: Annotated[Path, Parameter(help="The folder that the web server serves.")],
    *,
    site: Annotated[str, Parameter(help="The URL of that folder, such as https://example.org/ or .../docs/.")],
    output: Annotated[
        Path | None, Parameter(help="The file to write; sitemap.xml in the folder if not given. .gz compresses it.")
    ] = None,
    previous: Annotated[
        Path | None, Parameter(help="An earlier sitemap of the folder: how often pages change is estimated from both.")
    ] = None,
    json: Annotated[bool, Parameter(help="Report what was written as JSON.")] = False,
) -> int:
    home = home_of(site)
    if not directory.is_dir():
        raise ConfigError(f"there is no folder {directory}")
    target = output or directory / "sitemap.xml"
    if not target.parent.is_dir():
        raise ConfigError(f"there is no folder {target.parent}")
    outside = real_outside()
    choice = choose(directory, home, outside, earlier(previous, home))
    if not choice.pages:
        print(f"gossamer: nothing to list in {directory}{_left_out(choice)}", file=sys.stderr)
        return 1
    made = files_of(choice.pages, target.name, home)
    for one in made:
        path = target.with_name(one.name)
        outside.files.write(path, one.body)
        path.chmod(READABLE)
    print(_as_json(choice, made, target) if json else _as_words(choice, made, target))
    return 0


def home_of(site: str) -> Url:
    """The folder's address, which ends in a slash."""
    given = url_of(site if "://" in site else f"https://{site}")
    if given is None or "?" in given.text:
        raise ConfigError(f"--site {site}: give the URL of the folder, such as https://example.org/")
    return given if given.text.endswith("/") else Url(given.text + "/")


def _as_words(choice: SitemapChoice, made: list[Made], target: Path) -> str:
    pages = f"{len(choice.pages):,} page{'' if len(choice.pages) == 1 else 's'}"
    parts = f" (an index over {len(made) - 1} parts)" if len(made) > 1 else ""
    return f"{pages} in {target}{parts}{_left_out(choice)}"


def _left_out(choice: SitemapChoice) -> str:
    told = ", ".join(f"{count:,} {why}" for why, count in choice.left_out.items() if count)
    return f"; left out: {told}" if told else ""


def _as_json(choice: SitemapChoice, made: list[Made], target: Path) -> str:
    files = [{"path": str(target.with_name(one.name)), "bytes": len(one.body), "entries": one.entries} for one in made]
    left_out = {why: count for why, count in choice.left_out.items() if count}
    return json_format.dumps({"pages": len(choice.pages), "files": files, "left_out": left_out}, indent=2)
