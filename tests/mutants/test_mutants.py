"""The mutation runner itself: the mutants it makes, the sample it draws, and its verdict on a tiny project."""

import ast
import json
from pathlib import Path
from textwrap import dedent

import pytest
from tests.mutants.__main__ import listed
from tests.mutants.coverage import Measured
from tests.mutants.mutation import Mutant, mutants_of
from tests.mutants.sample import drawn, in_turn
from tests.mutants.trial import Book, Verdict, failing_anyway, nearest_tests, scores, tried
from tests.mutants.workbench import Workbench

ROOT = Path(__file__).parents[2]


def changes(source: str) -> dict[str, set[str]]:
    """After each change the line that changed, by operator."""
    text = dedent(source)
    found: dict[str, set[str]] = {}
    for mutant in mutants_of("m.py", text):
        before, after = text.splitlines(), mutant.applied(text).splitlines()
        line = next(new for old, new in zip(before, after, strict=False) if old != new)
        found.setdefault(mutant.operator, set()).add(line.strip())
    return found


def test_a_comparison_changes_its_boundary_and_its_direction() -> None:
    assert changes("def f(a): return a < 3")["comparison"] == {
        "def f(a): return (a <= 3)",
        "def f(a): return (a >= 3)",
    }
    assert changes("x = a is None")["comparison"] == {"x = (a is not None)"}
    assert changes("x = a in b")["comparison"] == {"x = (a not in b)"}


def test_and_becomes_or_and_conditions_are_dropped_and_negated() -> None:
    found = changes("x = a and not b")
    assert found["and/or"] == {"x = (a or not b)"}
    assert found["dropped condition"] == {"x = (a)", "x = (not b)"}
    assert found["negation"] == {"x = a and (b)"}
    assert changes("if ready:\n    go()")["negation"] == {"if (not ready):"}


def test_numbers_texts_and_booleans_are_changed() -> None:
    found = changes("def f(): return g(7, 'a', '', True)")["constant"]
    assert {line.partition("return ")[2] for line in found} == {
        "g((8), 'a', '', True)",
        "g((6), 'a', '', True)",
        "g(7, '', '', True)",
        "g(7, 'a', 'mutant', True)",
        "g(7, 'a', '', False)",
    }


def test_statements_are_removed_and_return_values_become_none() -> None:
    source = """
        def f(self):
            self.x = 1
            self.y()
            if z:
                raise KeyError
            try:
                return 1
            except OSError:
                self.tidy()
            finally:
                self.close()
    """
    found = changes(source)
    assert found["removed statement"] == {"pass"}
    assert found["removed call"] == {"pass"}
    assert found["removed raise"] == {"pass"}
    assert found["return value"] == {"return None"}
    assert found["exception not handled"] == {"raise"}
    assert found["removed finally"] == {"pass"}


def test_calls_slices_and_arithmetic_are_changed() -> None:
    assert changes("x = max(a, b)")["other function"] == {"x = min(a, b)"}
    assert changes("x = f(a, b, c)")["swapped arguments"] == {"x = (f(b, a, c))"}
    assert changes("x = a[n:]")["slice"] == {"x = a[(n + 1):]"}
    assert changes("x = a + b")["arithmetic"] == {"x = (a - b)"}
    assert "arithmetic" not in changes("Found = Open | Ask | None")
    assert changes("@property\ndef f(): ...")["decorator"] == {""}


def test_docstrings_annotations_named_numbers_and_logs_are_not_changed() -> None:
    source = '''
        """A docstring."""
        LIMIT_S = 30.0
        def f(a: "Name", wait_s: float = 3.0) -> "Other":
            """Another."""
            log.info("seen")
            tell("two words")
    '''
    assert set(changes(source)) == {"removed call"}


@pytest.mark.parametrize("module", ["rules/scope.py", "web/access/guard.py", "fetch/answer.py"])
def test_every_mutant_of_real_modules_compiles_and_differs(module: str) -> None:
    source = (ROOT / "src/gossamer" / module).read_text()
    original, found = ast.dump(ast.parse(source)), mutants_of(module, source)
    assert len(found) > 100 and len({mutant.name for mutant in found}) == len(found)
    for mutant in found[::4]:
        assert ast.dump(ast.parse(mutant.applied(source))) != original, mutant


def test_a_name_stays_the_same_when_lines_above_it_move() -> None:
    source = "def f(a):\n    return a < 3\n"
    assert [one.name for one in mutants_of("m.py", source)] == [one.name for one in mutants_of("m.py", "\n\n" + source)]


def mutants(module: str, count: int) -> list[Mutant]:
    return [Mutant(module, "f", "constant", n, n, n + 1, f"{n}", f"{n + 1}") for n in range(count)]


def test_a_sample_is_fixed_by_its_seed_and_shared_equally_by_the_rooms() -> None:
    rooms = {"a": mutants("a.py", 1000) + mutants("b.py", 1000), "b": mutants("c.py", 90)}
    sample = drawn(rooms, 80, seed=3)
    assert sample == drawn(rooms, 80, seed=3) != drawn(rooms, 80, seed=4)
    assert {room: len(found) for room, found in sample.items()} == {"a": 40, "b": 40}
    assert 10 < sum(one.module == "a.py" for one in sample["a"]) < 30
    assert [one.module == "c.py" for _, one in in_turn(sample)] == [False, True] * 40


def test_a_smaller_sample_begins_a_larger_one_and_is_stable_under_changes_elsewhere() -> None:
    rooms = {"a": mutants("a.py", 500)}
    large = drawn(rooms, 60, seed=3)["a"]
    assert drawn(rooms, 20, seed=3)["a"] == large[:20]
    without = drawn({"a": rooms["a"][:490]}, 60, seed=3)["a"]
    assert set(large) & set(rooms["a"][:490]) <= set(without)


def test_equivalent_mutants_are_left_out_of_the_score_unless_caught() -> None:
    verdicts = {
        "a": [Verdict("1", "caught"), Verdict("2", "survived"), Verdict("3", "uncovered"), Verdict("4", "time")]
    }
    assert scores(verdicts, {"2": "why", "1": "why"})[-1] == ("all", 4, 1, 2, 1)


PACKAGE = """
def larger(a, b):
    return a if a > b else b


def child(n):
    return n + 1


def unseen():
    return 5
"""
TESTS = """
import subprocess
import sys

from tiny.sums import larger


def test_larger():
    assert larger(1, 2) == 2
    assert larger(3, 2) == 3


def test_in_a_child_process():
    program = "from tiny.sums import child; print(child(1))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "2\\n"


def test_that_fails_anyway():
    assert larger(1, 1) == 2
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a tiny project."""
    folder = tmp_path / "project"
    (folder / "src/tiny").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "src/tiny/sums.py").write_text(PACKAGE)
    (folder / "tests/test_sums.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-q --import-mode=importlib"\n')
    return folder


def test_a_tiny_project_is_measured_and_its_mutants_are_judged(root: Path) -> None:
    found = {one.name.partition(": ")[2]: one for one in mutants_of("sums.py", PACKAGE)}
    with Workbench(root, "src/tiny") as bench:
        bench.instrument(["sums.py"])
        measured = bench.measure("tests/test_sums.py")
        bench.restore("sums.py")
        assert {test.name.partition("::")[2]: test.functions for test in measured} == {
            "test_larger": {"sums.py larger"},
            "test_in_a_child_process": {"sums.py child"},
        }, "a test that fails without a mutant is left out"

        def verdict(name: str) -> Verdict:
            near = nearest_tests(found[name], PACKAGE, measured, "tests/")
            return tried(bench, found[name], PACKAGE, near)

        assert verdict("a > b -> (a <= b)") == Verdict(
            "sums.py larger: a > b -> (a <= b)", "caught", "tests/test_sums.py::test_larger", 1
        )
        assert verdict("a > b -> (a >= b)").how == "survived"
        assert verdict("n + 1 -> (n - 1)").by == "tests/test_sums.py::test_in_a_child_process"
        assert verdict("5 -> (6)").how == "uncovered"
        names = ("test_larger", "test_that_fails_anyway")
        caught = [Verdict("", "caught", f"tests/test_sums.py::{name}") for name in names]
        assert failing_anyway(bench, caught) == {"tests/test_sums.py::test_that_fails_anyway"}
    assert (root / "src/tiny/sums.py").read_text() == PACKAGE, "the project itself is never changed"


def test_a_run_that_was_killed_does_not_change_the_result_of_the_next_one(root: Path) -> None:
    (root / "tests/test_slow.py").write_text("import time\ndef test_slow():\n    time.sleep(600)\n")
    with Workbench(root, "src/tiny") as bench:
        ended = bench.run(["tests/test_slow.py"], {}, limit_s=1)
        assert (ended.code, ended.why_ended) == (None, "time")
        next_run = bench.run(["tests/test_sums.py"], {"tests": {"tests/test_sums.py::test_larger": 60}}, limit_s=600)
        assert (next_run.code, next_run.why_ended) == (0, "")


def test_a_test_file_that_cannot_be_run_is_an_error(root: Path) -> None:
    (root / "tests/test_broken.py").write_text("import os\nos._exit(3)\n")
    with Workbench(root, "src/tiny") as bench:
        bench.instrument(["sums.py"])
        with pytest.raises(RuntimeError, match=r"test_broken\.py was not measured"):
            bench.measure("tests/test_broken.py")


def test_a_verdict_holds_until_the_test_or_the_module_changes(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    module, test = tmp_path / "p/m.py", tmp_path / "test_m.py"
    module.write_text("x = 1\n")
    test.write_text("pass\n")
    [mutant, *_] = mutants_of("m.py", "def f(): return a < b\n")
    near = [Measured("test_m.py::test", 0.1, frozenset())]
    Book(tmp_path / "verdicts", tmp_path, "p").add(mutant, Verdict(mutant.name, "survived", tests=1), near)
    known = Book(tmp_path / "verdicts", tmp_path, "p").known(mutant, near)
    assert known and known.how == "survived"
    assert json.loads((tmp_path / "verdicts").read_text())["mutant"] == mutant.name
    test.write_text("pass  # and more\n")
    assert Book(tmp_path / "verdicts", tmp_path, "p").known(mutant, near) is None


def test_a_caught_mutant_stays_caught_as_long_as_the_test_that_caught_it_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    module, test = tmp_path / "p/m.py", tmp_path / "test_m.py"
    module.write_text("x = 1\n")
    test.write_text("def test_one():\n    assert x\n")
    [mutant, *_] = mutants_of("m.py", "def f(): return a < b\n")
    near = [Measured("test_m.py::test_one[a]", 0.1, frozenset())]

    def is_known() -> bool:
        return Book(tmp_path / "verdicts", tmp_path, "p").known(mutant, near) is not None

    Book(tmp_path / "verdicts", tmp_path, "p").add(mutant, Verdict(mutant.name, "caught", near[0].name), near)
    assert is_known()
    test.write_text("def test_other():\n    pass\n\ndef test_one():\n    assert x\n")
    assert is_known(), "another test was added"
    test.write_text("def test_one():\n    assert not x\n")
    assert not is_known()
    test.write_text("def test_one():\n    assert x\n")
    module.write_text("x = 2\n")
    assert not is_known()


def test_every_equivalent_mutant_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in listed().values())


def test_tests_of_the_room_come_first_and_shared_setup_is_counted_once() -> None:
    [mutant, *_] = mutants_of("m.py", "def f(): return a < b\n")
    place = frozenset({"m.py f 0"})

    def measured(name: str, seconds: float, opening_s: float) -> Measured:
        return Measured(name, seconds, place, opening_s)

    near = [measured(f"tests/room/test_a.py::{number}", 0.1, 2.0) for number in range(9)]
    far, slow = measured("tests/web/test_b.py::1", 0.01, 1.0), measured("tests/web/test_c.py::1", 0.01, 50.0)
    assert nearest_tests(mutant, "def f(): return a < b\n", [slow, far, *near], "tests/room/") == [*near, far]
    assert nearest_tests(mutant, "def f(): return a < b\n", [slow], "tests/room/") == [slow]
