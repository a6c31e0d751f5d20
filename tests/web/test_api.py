"""The description of the API, and that the API works as described."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.openapi import from_dict
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.web.site import LONG_S, Site, serving

from gossamer.base.environment import AddressPlan, Network
from gossamer.collection import changes, control
from gossamer.store.directory import Directory

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
schemathesis.serializer.alias("application/sparql-query", "text/plain")
EXAMPLES = 8
"""For each operation and each mode of generation."""


@pytest.fixture(scope="module")
def document(site: Site) -> dict[str, Any]:
    answer = site.ask("/openapi.json")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    description: dict[str, Any] = answer.json
    return description


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def test_the_document_is_valid_openapi_and_complete(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known
    assert "HTTPValidationError" not in str(document)
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))


def test_every_json_answer_has_a_schema(document: dict[str, Any]) -> None:
    bare = [
        path
        for _, path, operation in operations(document)
        for media_type, content in operation["responses"].get("200", {}).get("content", {}).items()
        if media_type == "application/json" and not content.get("schema")
    ]
    assert bare == []


def test_every_page_has_its_json(site: Site, document: dict[str, Any]) -> None:
    paths = set(document["paths"])
    assert {"/search.json", "/page.json", "/status.json", "/sparql", "/export/pages.jsonl"} <= paths
    for _, path, operation in operations(document):
        errors = {code for code in operation["responses"] if code[0] in "45"}
        assert "422" not in errors, path


def test_the_page_describes_every_route(site: Site, document: dict[str, Any]) -> None:
    page = site.ask("/api").page
    shown = {heading.text(strip=True) for heading in page.css(".operation h3 code")}
    assert shown == set(document["paths"])
    assert len({section.attributes["id"] for section in page.css(".operation")}) == len(list(operations(document)))


def test_the_examples_on_the_page_work_unchanged(site: Site) -> None:
    page = site.ask("/api", headers={"Host": f"127.0.0.1:{site.port}"}).page
    commands = [one.text() for one in page.css("[data-example=curl]")]
    scripts = [one.text() for one in page.css("[data-example=python]")]
    assert len(commands) == len(scripts) >= 3
    for script in scripts:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LONG_S)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr
    if shutil.which("curl"):
        for command in commands:
            done = subprocess.run(["sh", "-c", f"{command} -sSf"], capture_output=True, text=True, timeout=LONG_S)
            assert done.returncode == 0 and done.stdout.strip(), done.stderr


def test_numbers_in_json_are_safe_for_every_parser(site: Site) -> None:
    """JavaScript loses the last digits of numbers above 2^53: such ids are strings."""

    def numbers(value: Any) -> Iterator[int]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                yield from numbers(one)
        elif isinstance(value, int):
            yield value

    for target in ("/search.json?q=harbour", "/status.json", "/page.json?url=http://hostile.test/page/0"):
        assert all(abs(number) < 2**53 for number in numbers(site.ask(target).json))


CHANGING = {
    "/crawl/start", "/crawl/pause", "/crawl/resume", "/crawl/stop", "/crawl/seeds", "/crawl/hosts/change",
    "/crawl/rules/save", "/crawl/rules/undo", "/nodes/drain", "/nodes/remove", "/page/again",
}  # fmt: skip


def test_routes_that_change_something_are_described_with_their_form_and_token(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    changing = {path: one for method, path, one in operations(document) if method == "post" and path != "/sparql"}
    assert set(changing) == CHANGING
    for path, one in changing.items():
        assert one["security"] == [{"token": []}] and one["summary"], path
        assert {"200", "303", "401", "403", "409", "413"} <= set(one["responses"]), path
        for status in ("200", "409"):
            schema = one["responses"][status]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/FormNotice"}, path
    form = changing["/crawl/seeds"]["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]
    assert set(form["properties"]) == {"seeds", "reach", "contact", "then"} and form["required"] == ["seeds"]
    assert form["properties"]["reach"]["enum"] == ["host", "domain", "prefix", "any"]


def test_the_page_describes_the_fields_of_a_form_and_that_a_token_is_needed(site: Site) -> None:
    section = site.ask("/api").page.css_first("#post-crawl-seeds")
    assert "administrator's token" in section.text() and "seeds" in section.text() and "prefix" in section.text()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_F_W19_random_reads_are_answered_as_described(site: Site, document: dict[str, Any]) -> None:
    assert wrong_in(document, site, {})[0] == []


@pytest.fixture
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, str]]:
    """A site that may be changed, and its token. Names of added seeds are not resolved, and no crawl starts: a
    program that ends at once is started in its place."""
    plan = AddressPlan({})
    monkeypatch.setattr(changes, "real_network", lambda outside: Network(plan, plan))
    monkeypatch.setattr(control, "MODULE", "gossamer.base.environment")
    directory = Directory(tmp_path / "c")
    with serving(directory) as site:
        yield site, (directory.root / "token").read_text().strip()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_F_W19_random_changes_are_answered_as_described(isolated: tuple[Site, str]) -> None:
    site, token = isolated
    description = site.ask("/openapi.json").json
    description["paths"] = {path: description["paths"][path] for path in CHANGING}
    failed, statuses = wrong_in(description, site, {"Authorization": f"Bearer {token}"})
    assert failed == [] and statuses & {200, 409} and not statuses & {401, 403}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-www-form-urlencoded"}
    form = urlencode({"draft": "exclude host = a.org", "mark": site.ask("/crawl/rules.json").json["mark"]})
    assert site.ask("/crawl/rules/save", "POST", form.encode(), "*/*", headers).status == 200
    for path in CHANGING:
        answer = site.ask(path, "POST", b"", "*/*", {"Authorization": f"Bearer {token}"})
        assert answer.status in (200, 409) and answer.json["words"], path


def wrong_in(document: dict[str, Any], site: Site, headers: dict[str, str]) -> tuple[list[str], set[int]]:
    """The operations that were not answered as described, and all status codes."""
    config = schemathesis.Config.from_dict({"headers": {"Accept": "*/*", **headers}})
    schema = from_dict(json.loads(json.dumps(document)), config=config)
    failed: list[str] = []
    statuses: set[int] = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        for mode in schemathesis.GenerationMode:

            @given(operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            def check(case: Any) -> None:
                answer = case.call_and_validate(base_url=site.address, checks=CHECKS, timeout=LONG_S)
                statuses.add(answer.status_code)

            try:
                check()
            except Unsatisfiable:  # without parameters no request is invalid
                continue
            except BaseExceptionGroup as group:
                failed.append(f"{operation.label}: {group.exceptions[0]}")
            except AssertionError as trouble:
                failed.append(f"{operation.label}: {trouble}")
    return failed, statuses
