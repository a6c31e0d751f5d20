import re
from pathlib import Path

import pytest

from gossamer.base.errors import ConfigError
from gossamer.config.load import NOT_SETTINGS, keys, load, named_file, sample, without_password

ROOT = Path(__file__).parents[2]


def written(folder: Path, text: str) -> Path:
    file = folder / "gossamer.toml"
    file.write_text(text)
    return file


def refusal(file: Path | None, variables: dict[str, str], flags: dict[str, object]) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file, variables, flags)
    return str(caught.value)


def test_later_sources_win_and_each_value_knows_where_it_comes_from(tmp_path: Path) -> None:
    file = written(tmp_path, 'contact = "a@example.org"\n[politeness]\ndelay_s = 2\n[crawl]\nmax_depth = 3\n')
    variables = {"GOSSAMER_POLITENESS_DELAY_S": "3", "GOSSAMER_CRAWL_SCOPE": "domain", "HOME": "/"}
    config = load(file, variables, {"politeness.delay_s": 4.0, "crawl.scope": None})
    assert config.settings.politeness.delay_s == 4.0
    assert config.settings.crawl.scope == "domain"
    assert config.settings.crawl.max_depth == 3
    assert config.origins["contact"] == "gossamer.toml"
    assert config.origins["crawl.scope"] == "GOSSAMER_CRAWL_SCOPE"
    assert config.origins["politeness.delay_s"] == "--delay"
    assert config.origins["web.port"] == "default"


def test_a_flag_is_named_as_it_is_typed() -> None:
    assert load(None, {}, {"fetch.allow_addresses": ["10.0.0.0/8"]}).origins["fetch.allow_addresses"] == (
        "--allow-address"
    )


def test_a_missing_file_means_defaults(tmp_path: Path) -> None:
    assert set(load(tmp_path / "gossamer.toml", {}, {}).origins.values()) == {"default"}


def test_a_file_named_on_the_command_line_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no settings file"):
        named_file(tmp_path / "mine.toml", tmp_path)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [("[crawl]\nscop = 'any'", "'crawl.scope'"), ("contct = 'x'", "'contact'"), ("[polite]\ndelay_s = 1", "delay_s")],
)
def test_an_unknown_key_is_refused_and_the_nearest_named(tmp_path: Path, text: str, nearest: str) -> None:
    message = refusal(written(tmp_path, text), {}, {})
    assert message.startswith("gossamer.toml: there is no setting") and nearest in message


def test_an_unknown_variable_is_refused_and_the_nearest_named() -> None:
    assert "Did you mean GOSSAMER_CONTACT?" in refusal(None, {"GOSSAMER_CONTAKT": "x"}, {})


def test_the_address_of_a_service_is_shown_without_its_password() -> None:
    plain, secret = "https://search.test:9200/mycrawl", "https://spider:pass@search.test:9200/mycrawl"
    given = [load(None, {"GOSSAMER_VIEWS_WORDS": one}, {}).settings.views.words for one in (plain, secret)]
    assert list(map(without_password, given)) == [plain, "https://spider:***@search.test:9200/mycrawl"]


def test_a_variable_may_hold_a_list() -> None:
    settings = load(None, {"GOSSAMER_FETCH_ALLOW_ADDRESSES": "10.0.0.0/8,127.0.0.1"}, {}).settings
    assert settings.fetch.allow_addresses == ("10.0.0.0/8", "127.0.0.1")


@pytest.mark.parametrize("text", ["contact = ", "[crawl\nscope = 1", "a = 1\na = 2", "\x00"])
def test_broken_toml_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    assert refusal(written(tmp_path, text), {}, {}).startswith("gossamer.toml is not valid TOML: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("crawl.scope", "galaxy"),
        ("crawl.max_pages", 0),
        ("crawl.max_pages", "many"),
        ("politeness.delay_s", -1.0),
        ("politeness.delay_s", float("nan")),
        ("politeness.delay_s", float("inf")),
        ("crawl.at_once", 0),
        ("readers.count", 0),
        ("retry.base_s", 0.0),
        ("web.port", 70_000),
    ],
)
def test_an_invalid_value_is_refused_with_its_name(name: str, value: object) -> None:
    message = refusal(None, {}, {name: value})
    assert name in message and str(value) in message


def test_waits_that_contradict_each_other_are_refused() -> None:
    assert "retry.cap_s" in refusal(None, {}, {"retry.base_s": 60.0, "retry.cap_s": 30.0})


def test_the_sample_file_loads_as_it_is_and_with_every_line_uncommented(tmp_path: Path) -> None:
    assert set(load(written(tmp_path, sample()), {}, {}).origins.values()) == {"default"}
    uncommented = re.sub(r"(?m)^# (\w+ = )", r"\1", sample())
    config = load(written(tmp_path, uncommented), {}, {})
    assert set(config.origins.values()) == {"gossamer.toml"}
    for key in keys():
        if key.default is not None:
            assert config.value(key.name) == key.default


def test_every_setting_is_described() -> None:
    assert len(keys()) == len({key.variable for key in keys()})
    assert all(key.says for key in keys())
    assert all(key.default is not None or key.example is not None for key in keys())


def test_a_variable_that_tests_and_tools_read_is_no_unknown_setting() -> None:
    """Otherwise setting it makes every command fail."""
    read = re.compile(r"environ(?:\.get\(|\[)\s*\"(GOSSAMER_[A-Z_]+)\"")
    sources = [path.read_text() for folder in ("tests", "tools", "bench") for path in (ROOT / folder).rglob("*.py")]
    named = {name for source in sources for name in read.findall(source)}
    assert "GOSSAMER_SERVICES" in named and named - NOT_SETTINGS - {key.variable for key in keys()} == set()
