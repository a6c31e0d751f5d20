"""Who may read and who may change; tokens, sessions, and those who guess."""

import asyncio
import stat
from pathlib import Path

import pytest
from tests.web.gate import BEARER, COOKIE, KEYS, ask, gate_of

from gossamer.app.directory import Directory
from gossamer.app.token import keys_of
from gossamer.chance import unguessable
from gossamer.clock import SystemClock
from gossamer.files import DiskFiles
from gossamer.testing import FakeClock
from gossamer.web.door import same_site
from gossamer.web.tokens import MOST_WRONG, MOST_WRONG_IN_ALL, SESSION_S, WINDOW_S, Keys, Role, Tries, is_near

NOW = FakeClock().now()


def test_each_token_has_its_role_and_no_other_text_has_one() -> None:
    assert KEYS.role_of(KEYS.admin) is Role.ADMIN
    assert KEYS.role_of(KEYS.reader) is Role.USER
    for wrong in ("", " ", KEYS.admin[:-1], KEYS.admin + "x", KEYS.admin.upper(), "é\ud800", "\0"):
        assert KEYS.role_of(wrong) is Role.ANONYMOUS


def test_F_W8_without_tokens_nothing_opens() -> None:
    for empty in (Keys(), Keys(admin="x" * 40), Keys(reader="x" * 40)):
        assert empty.role_of("") is Role.ANONYMOUS
    assert Keys().role_in("admin.99999999999.", NOW) is Role.ANONYMOUS
    assert Keys().role_in(Keys().session(Role.ADMIN, NOW), NOW) is Role.ANONYMOUS


@pytest.mark.parametrize("role", [Role.USER, Role.ADMIN])
def test_a_session_holds_until_it_runs_out_or_the_token_is_renewed(role: Role) -> None:
    session = KEYS.session(role, NOW)
    assert KEYS.role_in(session, NOW) is role
    assert KEYS.role_in(session, NOW + round((SESSION_S - 1) * 1e6)) is role
    assert KEYS.role_in(session, NOW + round((SESSION_S + 1) * 1e6)) is Role.ANONYMOUS
    assert Keys("new" * 20, "other" * 20).role_in(session, NOW) is Role.ANONYMOUS
    assert KEYS.admin not in session and KEYS.reader not in session, "a cookie goes to every port of the host"


def test_a_session_cannot_be_raised_lengthened_or_made_up() -> None:
    name, until, signature = KEYS.session(Role.USER, NOW).split(".")
    forged = [
        f"admin.{until}.{signature}", f"{name}.{int(until) + 1}.{signature}", f"{name}.{until}.", f"{name}.{until}",
        f"{name}..{signature}", f"{name}.-1.{signature}", f"{name}.٣.{signature}", f"{name}.{'9' * 400}.{signature}",
        "", "admin", "...", "anonymous.1.1", f"{name}.{until}.{signature[:-1]}",
    ]  # fmt: skip
    assert [KEYS.role_in(one, NOW) for one in forged] == [Role.ANONYMOUS] * len(forged)


@pytest.mark.parametrize(
    "target", ["//evil.test", "/\\evil.test", "https://evil.test", "evil", "", "/a\n", "/\t/evil.test", "\\", "/\x00"]
)
def test_F_W5_one_is_sent_to_paths_of_ours_only(target: str) -> None:
    assert same_site(target) == "/"


def test_F_W5_paths_of_ours_are_kept() -> None:
    for target in ("/", "/page?url=http://a.test/", "/crawl#x", "/é"):
        assert same_site(target) == target


def test_a_link_with_a_token_becomes_a_session_and_the_token_leaves_the_address() -> None:
    gate, clock = gate_of(FakeClock()), FakeClock()
    answer = asyncio.run(ask(gate, f"/page?url=http%3A%2F%2Fa.test%2F%3Fa%3D1&token={KEYS.admin}&q=x"))
    assert answer.status == 303 and answer.headers["location"] == "/page?url=http%3A%2F%2Fa.test%2F%3Fa%3D1&q=x"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie and KEYS.admin not in cookie
    assert KEYS.role_in(answer.cookie, clock.now()) is Role.ADMIN
    assert asyncio.run(ask(gate, "/", cookie=f"{COOKIE}={answer.cookie}")).text == "admin"


@pytest.mark.parametrize("path", ["//evil.test/", "/\\evil.test/", "/%5Cevil.test", "/%2Fevil.test", "/%0d%0aX:y"])
def test_F_W5_a_link_with_a_token_leads_nowhere_else(path: str) -> None:
    answer = asyncio.run(ask(gate_of(FakeClock()), f"{path}?token={KEYS.admin}"))
    location = answer.headers["location"]
    assert location.startswith("/") and location[1:2] not in ("/", "\\") and "\n" not in location


def test_a_program_sends_its_token_each_time() -> None:
    gate = gate_of(FakeClock())
    for role, bearer in BEARER.items():
        assert asyncio.run(ask(gate, "/", authorization=bearer)).text == role
        assert asyncio.run(ask(gate, "/", authorization=bearer.replace("Bearer", "bearer"))).text == role
    assert asyncio.run(ask(gate, "/")).text == "anonymous", "nobody inherits the role of the one before"
    wrong = asyncio.run(ask(gate, "/", authorization="Bearer no"))
    assert wrong.status == 401 and wrong.headers["www-authenticate"].startswith("Bearer")


def test_F_W6_a_change_needs_the_administrators_token_and_our_own_pages() -> None:
    gate = gate_of(FakeClock())

    def post(**headers: str) -> int:
        return asyncio.run(ask(gate, "/crawl/pause", "POST", b"a=b", **headers)).status

    admin = BEARER["admin"]
    assert post() == 403 and post(authorization=BEARER["user"]) == 403
    assert post(authorization=admin) == 200
    assert post(authorization=admin, origin="http://127.0.0.1:8642") == 200
    assert post(authorization=admin, sec_fetch_site="same-origin") == 200
    for origin in ("http://evil.test", "null", "http://127.0.0.1:9999", "http://127.0.0.1", "https://127.0.0.1.evil"):
        assert post(authorization=admin, origin=origin) == 403
    for site in ("cross-site", "same-site"):
        assert post(authorization=admin, sec_fetch_site=site) == 403
    for method in ("PUT", "DELETE", "PATCH"):
        assert asyncio.run(ask(gate, "/crawl/pause", method)).status == 403
        assert asyncio.run(ask(gate, "/crawl/pause", method, authorization=admin)).status == 200


def test_F_W7_a_script_of_another_site_may_not_make_us_work() -> None:
    gate = gate_of(FakeClock())
    hidden = asyncio.run(ask(gate, "/sparql?query=x", sec_fetch_site="cross-site", sec_fetch_mode="no-cors"))
    followed = asyncio.run(ask(gate, "/", sec_fetch_site="cross-site", sec_fetch_mode="navigate"))
    assert hidden.status == 403 and followed.status == 200


def test_beyond_this_machine_everything_needs_a_token() -> None:
    gate = gate_of(FakeClock(), is_open=False)
    assert asyncio.run(ask(gate, "/search.json?q=x")).status == 401
    person = asyncio.run(ask(gate, "/?q=a%26b", accept="text/html"))
    assert (person.status, person.headers["location"]) == (303, "/door?next=%2F%3Fq%3Da%2526b")
    assert asyncio.run(ask(gate, "/sparql", "POST", b"query=x")).status == 401
    for free in ("/door", "/robots.txt", "/static/gossamer.css"):
        assert asyncio.run(ask(gate, free)).status == 200
    for role, bearer in BEARER.items():
        assert asyncio.run(ask(gate, "/search.json", authorization=bearer)).text == role
    for trick in ("/DOOR", "/door/", "/door/x", "//door", "/statics"):
        assert asyncio.run(ask(gate, trick)).status == 401


def test_F_W8_guessing_is_slowed_down_for_the_one_who_guesses() -> None:
    clock = FakeClock()
    gate = gate_of(clock, is_open=False)

    def tried(token: str, client: str) -> int:
        return asyncio.run(ask(gate, "/x", client=client, authorization=f"Bearer {token}")).status

    assert [tried(f"guess {n}", "20.0.0.1") for n in range(MOST_WRONG)] == [401] * MOST_WRONG
    assert tried("one more", "20.0.0.1") == 429
    assert tried(KEYS.admin, "20.0.0.1") == 429, "the right one is not told apart from the others then"
    assert tried(KEYS.admin, "20.0.0.2") == 200
    clock.advance(WINDOW_S)
    assert tried(KEYS.admin, "20.0.0.1") == 200


def test_F_W8_guessing_from_many_addresses_is_slowed_down_and_the_owner_is_not_locked_out() -> None:
    clock = FakeClock()
    gate = gate_of(clock, is_open=False)

    def tried(token: str, client: str) -> int:
        return asyncio.run(ask(gate, f"/?token={token}", client=client)).status

    session = asyncio.run(ask(gate, f"/?token={KEYS.reader}", client="20.1.0.1")).cookie
    for number in range(MOST_WRONG_IN_ALL):
        assert tried("wrong", f"20.0.{number}.1") == 401
    assert tried("wrong", "20.9.9.9") == 429 and tried(KEYS.admin, "20.9.9.9") == 429
    assert tried(KEYS.admin, "127.0.0.1") == 303 and tried(KEYS.admin, "::1") == 303
    inside = asyncio.run(ask(gate, "/", client="20.1.0.1", cookie=f"{COOKIE}={session}"))
    assert inside.text == "user", "who is in stays in"
    clock.advance(WINDOW_S)
    assert tried(KEYS.admin, "20.9.9.9") == 303


def test_what_is_remembered_of_guessers_is_bounded() -> None:
    clock = FakeClock()
    tries = Tries(clock)
    for number in range(10_000):
        if not tries.are_too_many(f"20.{number >> 8}.{number & 255}.1"):
            tries.add(f"20.{number >> 8}.{number & 255}.1")
    assert len(tries._wrong) == MOST_WRONG_IN_ALL


def test_near_is_this_machine() -> None:
    assert all(map(is_near, ("127.0.0.1", "127.9.9.9", "::1", "::1%lo")))
    assert not any(map(is_near, ("10.0.0.1", "testclient", "", "20.0.0.1", "fe80::1%eth0")))


def test_F_W18_scripts_of_other_sites_read_public_pages_only_and_never_in_a_persons_name() -> None:
    public = gate_of(FakeClock(), is_public=True)
    plain = asyncio.run(ask(public, "/search.json", origin="http://other.test"))
    assert plain.headers["access-control-allow-origin"] == "*"
    cookie = f"{COOKIE}={KEYS.session(Role.USER, NOW)}"
    for headers in ({"authorization": BEARER["user"]}, {"cookie": cookie}):
        assert "access-control-allow-origin" not in asyncio.run(ask(public, "/search.json", **headers)).headers
    for gate in (gate_of(FakeClock()), gate_of(FakeClock(), is_open=False)):
        for headers in ({}, {"authorization": BEARER["user"]}, {"origin": "http://other.test"}):
            answer = asyncio.run(ask(gate, "/search.json", **headers))
            assert not [name for name in answer.headers if name.startswith("access-control")]
    assert asyncio.run(ask(public, "/crawl/stop", "POST", origin="http://other.test")).status == 403


def test_tokens_are_made_once_kept_private_and_renewed_when_asked(tmp_path: Path) -> None:
    directory, files = Directory(tmp_path), DiskFiles()
    first = keys_of(directory, files)
    assert keys_of(directory, files) == first and first.admin != first.reader
    for name in ("token", "reader-token"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    second = keys_of(directory, files, are_new=True)
    assert second.admin != first.admin and second.reader != first.reader
    assert keys_of(directory, files) == second


def test_a_token_file_that_is_empty_or_short_is_not_trusted(tmp_path: Path) -> None:
    for text in ("", "\n", "admin\n", "\x00" * 64):
        (tmp_path / "token").write_text(text)
        assert len(keys_of(Directory(tmp_path), DiskFiles()).admin) >= 40


def test_a_token_cannot_be_guessed_and_fits_into_an_address() -> None:
    drawn = {unguessable() for _ in range(100)}
    assert len(drawn) == 100 and all(
        len(one) >= 43 and one.replace("-", "").replace("_", "").isalnum() for one in drawn
    )


def test_the_clock_of_the_program_will_do() -> None:
    assert asyncio.run(ask(gate_of(SystemClock()), "/", authorization=BEARER["admin"])).text == "admin"
