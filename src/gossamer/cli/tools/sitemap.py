"""`gossamer sitemap`: a sitemap for a folder of files that a web server serves."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.base.environment import real_outside
from gossamer.base.errors import ConfigError
from gossamer.cli.output import note
from gossamer.lab.sitemap import SitemapChoice, earlier, files_of, sitemap_of
from gossamer.values.format import as_json, counted
from gossamer.values.url import Url, url_of

READABLE = 0o644
"""Other files of the program are private; a web server must be able to read this one."""


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
    choice = sitemap_of(directory, home, outside, earlier(previous, home))
    if not choice.pages:
        note(f"gossamer: nothing to list in {directory}{_left_out(choice)}")
        return 1
    made = files_of(choice.pages, target.name, home)
    for one in made:
        path = target.with_name(one.name)
        outside.files.write(path, one.body)
        path.chmod(READABLE)
    if json:
        files = [
            {"path": str(target.with_name(one.name)), "bytes": len(one.body), "entries": one.entries} for one in made
        ]
        print(as_json({"pages": len(choice.pages), "files": files, "left_out": choice.left_out}))
    else:
        parts = f" (an index over {len(made) - 1} parts)" if len(made) > 1 else ""
        print(f"{counted(len(choice.pages), 'page')} in {target}{parts}{_left_out(choice)}")
    return 0


def home_of(site: str) -> Url:
    """The folder's URL, which ends in a slash."""
    given = url_of(site if "://" in site else f"https://{site}")
    if given is None or "?" in given.text:
        raise ConfigError(f"--site {site}: give the URL of the folder, such as https://example.org/")
    return given if given.text.endswith("/") else Url(given.text + "/")


def _left_out(choice: SitemapChoice) -> str:
    reasons = ", ".join(f"{count:,} {why}" for why, count in choice.left_out.items())
    return f"; left out: {reasons}" if reasons else ""
