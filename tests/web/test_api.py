"""The API as it is described, and that it is as described."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

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
from tests.web.site import Site

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
schemathesis.serializer.alias("application/sparql-query", "text/plain")
EXAMPLES = 8
"""Of each operation, in each manner."""


@pytest.fixture(scope="module")
def document(site: Site) -> dict[str, Any]:
    answer = site.ask("/openapi.json")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json
    return found


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


def test_the_document_is_openapi_and_whole(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known
    assert "HTTPValidationError" not in str(document)
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))


def test_every_answer_in_json_is_described(document: dict[str, Any]) -> None:
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
        faults = {code for code in operation["responses"] if code[0] in "45"}
        assert "422" not in faults, path


def test_the_page_tells_of_every_address(site: Site, document: dict[str, Any]) -> None:
    page = site.ask("/api").page
    shown = {heading.text(strip=True) for heading in page.css(".operation h3 code")}
    assert shown == set(document["paths"])
    assert len({section.attributes["id"] for section in page.css(".operation")}) == len(list(operations(document)))


def test_the_examples_on_the_page_work_as_they_stand(site: Site) -> None:
    page = site.ask("/api", headers={"Host": f"127.0.0.1:{site.port}"}).page
    commands = [one.text() for one in page.css("[data-example=curl]")]
    scripts = [one.text() for one in page.css("[data-example=python]")]
    assert len(commands) == len(scripts) >= 3
    for script in scripts:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr
    if shutil.which("curl"):
        for command in commands:
            done = subprocess.run(["sh", "-c", f"{command} -sSf"], capture_output=True, text=True, timeout=30)
            assert done.returncode == 0 and done.stdout.strip(), done.stderr


def test_numbers_in_json_are_safe_for_every_reader(site: Site) -> None:
    """Beyond 2^53 JavaScript loses the last digits: such ids are texts."""

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


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_F_W19_what_is_asked_at_random_is_answered_as_described(site: Site, document: dict[str, Any]) -> None:
    config = schemathesis.Config.from_dict({"headers": {"Accept": "*/*"}})
    schema = from_dict(json.loads(json.dumps(document)), config=config)
    failed = []
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
                case.call_and_validate(base_url=site.address, checks=CHECKS, timeout=30)

            try:
                check()
            except Unsatisfiable:  # what has no parameters cannot be asked wrongly
                continue
            except BaseExceptionGroup as group:
                failed.append(f"{operation.label}: {group.exceptions[0]}")
            except AssertionError as trouble:
                failed.append(f"{operation.label}: {trouble}")
    assert not failed, "\n\n".join(failed)
