"""Every file and heading that the documents name exists, and the glossary is sorted."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "gossamer"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted(DOCS.rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]*)#([^)\s]+)\)")
NAMED = re.compile(r"`([\w./-]+(?:\.py|/))`")
MOST_MODULES = 25


def section(page: Path, heading: str) -> str:
    text = page.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert text, heading
    return text


def exists(name: str) -> bool:
    return (PACKAGE / name).exists() or (ROOT / name).exists()


@pytest.mark.parametrize("heading", ["A page's way", "Where do I add ...?"])
def test_every_file_that_contributing_names_exists(heading: str) -> None:
    names = NAMED.findall(section(ROOT / "CONTRIBUTING.md", heading))
    assert len(names) > 8
    assert [name for name in names if not exists(name)] == []


def test_the_way_of_a_page_in_contributing_names_few_modules() -> None:
    names = NAMED.findall(section(ROOT / "CONTRIBUTING.md", "A page's way"))
    assert len({name for name in names if name.endswith(".py")}) <= MOST_MODULES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_document_names_with_its_folder_exists(page: Path) -> None:
    named = NAMED.findall(page.read_text())
    names = [name for name in named if page.name == "glossary.md" or (name.endswith(".py") and "/" in name)]
    assert [name for name in names if not exists(name)] == []


def test_every_file_in_the_section_of_a_room_is_in_that_room() -> None:
    missing = []
    for section in re.split(r"^### ", (DOCS / "architecture.md").read_text(), flags=re.MULTILINE)[1:]:
        room = PACKAGE / section.partition(":")[0]
        for name in NAMED.findall(section.partition("\n## ")[0]) if room.is_dir() else ():
            if not exists(name) and not [*room.rglob(Path(name).name)]:
                missing.append(f"{room.name}: {name}")
    assert missing == []


def test_the_terms_of_the_glossary_are_in_alphabetical_order() -> None:
    terms = [
        term.lower() for term in re.findall(r"^\| \*\*(.+?)\*\*", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    ]
    assert terms == sorted(terms) and len(terms) > 40


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes from the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_work(page: Path) -> None:
    links = [(target, anchor) for target, anchor in LINK.findall(page.read_text()) if "://" not in target]
    missing = [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in anchors(page.parent / target if target else page)
    ]
    assert missing == []
