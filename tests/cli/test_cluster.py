"""A cluster by its address: made, changed, given work, asked; and nothing of a password anywhere."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.site import QUICK, Site, command, gossamer, harbour, plain_environment
from tests.cluster.wheelhouse import wheel_of
from tests.cluster_services import ClusterServices, cluster_services, made_cluster
from tests.postgres_server import server

import gossamer as face
from gossamer.base.errors import DirectoryUnusable
from gossamer.store.address import cache_folder, folder_named

SECRET = "hunter2x7"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[ClusterServices]:
    with cluster_services(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterServices]:
    with made_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def refused(*words: object, code: int = 2, **variables: str) -> str:
    done = gossamer(*words, **variables)
    assert done.returncode == code and not done.stdout, done.stdout + done.stderr
    return done.stderr


def test_an_address_without_a_cluster_says_how_to_make_one(services: ClusterServices) -> None:
    for words in (("status",), ("search", "fish"), ("rules",), ("config", "show"), ("crawl", "http://10.1.2.3/")):
        assert "Make one: gossamer cluster init" in refused(*words, "--dir", services.address, code=3)
    with pytest.raises(DirectoryUnusable, match="there is no cluster in"):
        face.open(services.address)


def test_init_tries_every_service_and_is_the_same_the_second_time(services: ClusterServices) -> None:
    for number in range(2):
        done = gossamer("cluster", "init", services.address, *services.flags())
        assert done.returncode == 0, done.stderr
        for what in ("wrote and read the settings", "wrote a file, read it", "OpenSearch 2.", "replaced, read"):
            assert what in done.stdout
        assert "gossamer node 'host=" in done.stdout and "gossamer crawl https" in done.stdout
        assert ("existed already" in done.stdout) == bool(number)
    assert services.settings() == {
        "archive.directories": [str(services.archive)],
        "archive.copies": 1,
        "views.words": services.words,
        "views.facts": services.facts,
    }
    assert list(services.archive.iterdir()) == []
    others = list(services.flags())
    others[1] = str(services.archive.parent)
    assert "made with archive.directories" in refused("cluster", "init", services.address, *others)


def test_init_takes_an_object_storage(services: ClusterServices) -> None:
    pytest.importorskip("obstore")
    flags = ("--archive", f"file://{services.archive}", *services.flags()[2:])
    done = gossamer("cluster", "init", services.address, *flags)
    assert done.returncode == 0, done.stderr
    assert services.settings()["archive.storage"] == f"file://{services.archive}"
    assert list(services.archive.iterdir()) == []


def test_init_stores_wheels_for_nodes(services: ClusterServices, tmp_path: Path) -> None:
    init = ("cluster", "init", services.address, "--archive", f"file://{services.archive}", *services.flags()[2:])
    assert "has no wheel of gossamer" in refused(*init, "--wheels", tmp_path)
    assert services.rows("SELECT to_regclass('wheels') IS NULL") == [(True,)], "nothing was made"
    wheel = wheel_of(face.__version__)
    done = gossamer(*init, "--wheels", wheel.parent)
    assert done.returncode == 0, done.stderr
    assert services.rows("SELECT version, name, bytes FROM wheels") == [
        (face.__version__, wheel.name, wheel.stat().st_size)
    ]
    assert services.rows("SELECT value FROM agreed WHERE name = 'version'") == [(face.__version__,)]
    (stored,) = services.archive.glob("versions/*/*.whl")
    assert stored.read_bytes() == wheel.read_bytes()


def test_init_refuses_what_a_cluster_cannot_use_and_stores_nothing(services: ClusterServices, tmp_path: Path) -> None:
    archive, words, facts = services.flags()[:2], services.flags()[2:4], services.flags()[4:]
    nowhere = "http://127.0.0.1:1"
    for flags, why in (
        ((*archive, *facts), "--words is missing: every node has files of its own"),
        ((*archive, *words), "--facts is missing: every node has files of its own"),
        ((*archive, "--words", f"{nowhere}/x", *facts), "does not answer (connection refused): start it, or correct"),
        ((*archive, *words, "--facts", f"{nowhere}/x/query"), "does not answer (connection refused): start it"),
        ((*archive, *words, "--facts", services.facts.replace("/query", "/ask")), "views.facts_update must be set"),
        ((*archive, "--words", services.facts, *facts), "views.words at"),
        (("--archive", str(tmp_path / "none"), *words, *facts), "does not exist: create it, or mount"),
        (("--archive", "relative", *words, *facts), "must be an absolute path"),
        ((*archive, "--copies", "2", *words, *facts), "needs as many directories"),
    ):
        said = " ".join(refused("cluster", "init", services.address, *flags).split())
        assert why in said, said
    for place in (2, 4):
        flags = [one.replace("http://", f"http://spider:{SECRET}@") for one in services.flags()]
        said = refused("cluster", "init", services.address, *services.flags()[:place], *flags[place:])
        assert "Write ${NAME} instead" in said and SECRET not in said
    keyed = f"s3://bucket/x?aws_access_key_id=a&aws_secret_access_key={SECRET}"
    said = refused("cluster", "init", services.address, "--archive", keyed, *words, *facts)
    assert "archive.storage: a password or key in clear" in said and SECRET not in said
    assert services.rows("SELECT * FROM options") == services.rows("SELECT * FROM documents") == []


def test_init_refuses_the_database_of_a_crawl_of_directories(services: ClusterServices, tmp_path: Path) -> None:
    with Site({"/": "<p>one page"}).serving() as site:
        crawl = ("crawl", site.root, "--dir", tmp_path / "c", *QUICK, "--database", services.address)
        assert gossamer(*crawl).returncode == 0
    said = refused("cluster", "init", services.address, *services.flags())
    assert "holds a crawl of data directories" in said


def test_settings_are_checked_stored_and_shown_with_their_origin(cluster: ClusterServices) -> None:
    base = ("cluster", "settings", cluster.address)
    assert (
        "politeness.delay_s is 2.5, from: this cluster, given on"
        in gossamer(*base, "set", "politeness.delay_s", "2.5").stdout
    )
    assert gossamer(*base, "set", "crawl.filters", "a.py:x, b.py:y").returncode == 0
    assert gossamer(*base, "set", "retry.cap_s", "20").returncode == 2, "less than retry.base_s"
    assert cluster.settings()["crawl.filters"] == ["a.py:x", "b.py:y"]
    for words in (base, ("config", "show", "--dir", cluster.address)):
        shown = json.loads(gossamer(*words, "--json").stdout)
        assert shown["politeness.delay_s"]["value"] == 2.5
        assert shown["politeness.delay_s"]["origin"].startswith("this cluster, given on 2")
        assert shown["archive.directories"]["value"] == [str(cluster.archive)]
    for words, why in (
        (("set", "politeness.delay", "2"), "Did you mean 'politeness.delay_s'?"),
        (("set", "politeness.delay_s", "-1"), "the minimum is 0"),
        (("set", "politeness.delay_s", "soon"), "cannot be 'soon'"),
        (("set", "views.words", "https://x.example/"), "cannot be changed after `gossamer cluster init`"),
        (("set", "archive.storage", "s3://x"), "cannot be changed after `gossamer cluster init`"),
        (("set", "frontier.database", "postgresql://x"), "is the address of the cluster itself"),
        (("unset", "views.words"), "cannot be unset"),
        (("unset", "crawl.keep"), "was not given crawl.keep; it was given: crawl.filters, politeness.delay_s"),
        (("set", "politeness.delay_s"), "name the setting and its value"),
        (("unset",), "name the setting: gossamer"),
    ):
        assert why in refused(*base, *words)
    assert gossamer(*base, "unset", "crawl.filters").returncode == 0
    done = gossamer("config", "unset", "politeness.delay_s", "--dir", cluster.address)
    assert done.returncode == 0 and "is 1.0 again, from: default" in done.stdout
    assert gossamer(*base, "set", "views.words", cluster.words).returncode == 0, "the same is no change"


def test_files_of_a_cluster_are_stored_listed_and_copied_for_workers(cluster: ClusterServices, tmp_path: Path) -> None:
    base = ("cluster", "files", cluster.address)
    turtle = "<http://a.example/A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://a.example/B> .\n"
    (tmp_path / "vocabulary.ttl").write_text(turtle)
    (tmp_path / "contexts").mkdir()
    (tmp_path / "contexts" / "index.toml").write_text('"https://a.example/v1" = "a.jsonld"\n')
    for file in ("vocabulary.ttl", "contexts/index.toml"):
        assert gossamer(*base, "put", tmp_path / file).returncode == 0
    assert gossamer(*base, "get", "vocabulary.ttl").stdout == turtle
    names = [one["name"] for one in json.loads(gossamer(*base, "--json").stdout)]
    assert names == ["contexts/index.toml", "vocabulary.ttl"], "not the id of the cluster, nor tokens"
    scratch = folder_named(cluster.address)
    assert gossamer("status", "--dir", cluster.address).returncode == 0
    assert (scratch / "vocabulary.ttl").read_text() == turtle and (scratch / "contexts" / "index.toml").is_file()
    (tmp_path / "vocabulary.ttl").write_text("nonsense")
    assert "vocabulary" in refused(*base, "put", tmp_path / "vocabulary.ttl")
    (tmp_path / "state.url").write_text("x")
    for file, name in (("state.url", ()), ("vocabulary.ttl", ("--name", "../x.py")), ("none", ())):
        refused(*base, "put", tmp_path / file, *name)
    assert gossamer(*base, "remove", "contexts/index.toml").returncode == 0
    assert "has no file" in refused(*base, "get", "contexts/index.toml")
    assert gossamer("status", "--dir", cluster.address).returncode == 0
    assert not (scratch / "contexts" / "index.toml").exists()


def test_code_in_a_cluster_runs_only_where_it_was_allowed(cluster: ClusterServices, tmp_path: Path) -> None:
    (tmp_path / "wanted.py").write_text("def wanted(url, depth):\n    return 'draft' not in url\n")
    assert gossamer("cluster", "files", cluster.address, "put", tmp_path / "wanted.py").returncode == 0
    assert gossamer("cluster", "settings", cluster.address, "set", "crawl.filters", "wanted.py:wanted").returncode == 0
    try:
        listed = gossamer("trust", "--dir", cluster.address)
        assert listed.returncode == 1 and "not allowed  gossamer.filters" in listed.stdout
        assert "views.words" not in listed.stdout, "a cluster that was named by its address is the user's own"
        assert gossamer("trust", "--dir", cluster.address, "--allow").returncode == 0
    finally:
        assert gossamer("cluster", "settings", cluster.address, "unset", "crawl.filters").returncode == 0


def test_crawl_gives_seeds_and_settings_to_the_cluster_and_returns(services: ClusterServices) -> None:
    make(services)
    with Site(harbour()).serving() as site:
        to = ("--dir", services.address)
        assert "--allow-address 127.0.0.1" in refused("crawl", site.root, *to)
        first = gossamer("crawl", site.root, *to, *QUICK, "--scope", "domain", "--forever")
        assert first.returncode == 0, first.stderr
        assert "1 seed added, 1 of them new; 1 URLs wait" in first.stdout
        assert "No node crawls this cluster now. Start one: gossamer node 'host=" in first.stdout
        assert site.hits == [], "nodes fetch"
        given = services.settings()
        assert given["fetch.allow_addresses"] == ["127.0.0.0/8"] and given["politeness.delay_s"] == 0.02
        assert given["crawl.scope"] == "domain" and given["crawl.revisit"] != "no"
        assert services.rows("SELECT url, reach FROM seeds") == [(site.root, "domain")]
        at = services.rows("SELECT name, given_at FROM options ORDER BY name")
        again = json.loads(gossamer("crawl", site.root, site.root + "new", *to, *QUICK, "--json").stdout)
        assert again == {"seeds": 2, "new": 1, "settings": [], "crawlers": 0, "waiting": 2}
        assert services.rows("SELECT name, given_at FROM options ORDER BY name") == at, "stored when they differ"
        assert services.rows("SELECT * FROM workers") == [], "commands leave nothing behind"
        assert "nodes crawl a cluster: gossamer node" in refused("crawl", *to)
        assert "--config has no effect" in refused("crawl", site.root, *to, "--config", "x.toml")
        assert "--database names" in refused("crawl", site.root, *to, "--database", services.address)
        assert gossamer("crawl", *to, "--delay", "-1").returncode == 2
        host = site.root.split("/")[2]
        assert gossamer("why", site.root, *to).returncode == 0
        assert "is retired" in gossamer("hosts", "retire", host, *to).stdout
        assert [one["state"] for one in json.loads(gossamer("hosts", *to, "--json").stdout)] == ["retired"]
        assert "is crawled again" in gossamer("hosts", "reinstate", host, *to).stdout
        assert gossamer("retry", "--reason", "gone", "--yes", *to).returncode == 1
        assert "not every URL named with --again was" in refused("crawl", *to, "--again", site.root)
        with face.open(services.address) as collection:
            assert collection.counts().queued == 2 and collection.why(site.root).is_known
        shown = gossamer("status", *to)
        assert services.address.split()[0] in shown.stdout and "clusters/" not in shown.stdout


def make(services: ClusterServices) -> None:
    done = gossamer("cluster", "init", services.address, *services.flags())
    assert done.returncode == 0, done.stderr


def test_a_demonstration_on_a_cluster_is_refused_in_one_line(cluster: ClusterServices) -> None:
    said = refused("demo", "--exit", "--dir", cluster.address, code=3)
    assert "`gossamer demo` does not work on a cluster" in said and said.count("\n") == 1


@pytest.fixture
def guarded(services: ClusterServices) -> str:
    """The address in the form of a URL, with a password in clear; the server does not ask for it."""
    folder, schema = str(server().folder), services.rows("SELECT current_schema()")[0][0]
    return (
        f"postgresql://gossamer:{SECRET}@/postgres?host={folder}"
        f"&options=-csearch_path%3D{schema}%20-csynchronous_commit%3Doff"
    )


def test_a_password_in_the_address_is_nowhere_afterwards(
    services: ClusterServices, guarded: str, tmp_path: Path
) -> None:
    cache, settings = tmp_path / "cache", tmp_path / "config"
    own = {"XDG_CACHE_HOME": str(cache), "XDG_CONFIG_HOME": str(settings)}
    said = []
    for words in (
        ("cluster", "init", guarded, *services.flags()),
        ("crawl", "http://127.0.0.1:8081/", "--dir", guarded, *QUICK),
        ("status", "--dir", guarded),
        ("why", "http://127.0.0.1:8081/", "--dir", guarded),
        ("cluster", "settings", guarded, "--json"),
        ("rules", "add", "no rule", "--dir", guarded),
        ("verify", "--dir", guarded),
        ("crawl", "--dir", guarded),
    ):
        done = gossamer(*words, **own)
        said.append(done.stdout + done.stderr)
    assert "The cluster is made" in said[0] and "1 of them new" in said[1], said[:2]
    assert "gossamer:***@" in said[0], "people may copy it, and add the password"
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET not in "".join(said) and SECRET.encode() not in written
    assert b"${CLUSTER_PASSWORD_" in written
    for table in ("options", "documents", "seeds"):
        assert SECRET not in str(services.rows(f"SELECT * FROM {table}"))
    (folder,) = (cache / "gossamer" / "clusters").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / "state.url").stat().st_mode & 0o777 == 0o600


def test_a_password_in_the_address_is_hidden_in_the_list_of_processes(services: ClusterServices, guarded: str) -> None:
    assert gossamer("cluster", "init", guarded, *services.flags()).returncode == 0
    top = subprocess.Popen(
        command("top", "--dir", guarded, "--json"),
        stdout=subprocess.PIPE,
        text=True,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
    )
    try:
        assert top.stdout is not None and top.stdout.readline()  # by then it has read its arguments
        shown = Path(f"/proc/{top.pid}/cmdline").read_bytes()
        assert SECRET.encode() not in shown and b"gossamer:" + b"*" * len(SECRET) + b"@/postgres" in shown
    finally:
        top.kill()
        top.communicate()


def test_references_in_an_address_are_replaced_when_it_connects(
    services: ClusterServices, guarded: str, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\n")
    by_variable, by_file = guarded.replace(SECRET, "${DB}"), guarded.replace(SECRET, f"${{file:{file}}}")
    assert gossamer("cluster", "init", by_variable, *services.flags(), DB=SECRET).returncode == 0
    assert gossamer("hosts", "--dir", by_file).returncode == 0
    missing = refused("search", "x", "--dir", by_variable, code=2, HOME=os.environ.get("HOME", "/"))
    assert "the environment variable DB" in missing and SECRET not in missing


def test_a_database_that_is_away_is_no_cluster_with_default_settings(tmp_path: Path) -> None:
    address = f"host={tmp_path} dbname=none"
    for words in (("status",), ("search", "x"), ("crawl", "http://10.1.2.3/"), ("config", "show")):
        assert "cannot be opened" in refused(*words, "--dir", address, code=3)
    assert cache_folder(os.environ).is_dir()
