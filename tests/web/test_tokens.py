"""Who may read and who may change; tokens, sessions, and guessed tokens."""

import asyncio
import stat
from pathlib import Path

import pytest
from tests.web.gate import BEARER, COOKIE, KEYS, ask, gate_of, site_of

from gossamer.base.clock import SystemClock
from gossamer.base.environment import random_token
from gossamer.base.files import DiskFiles
from gossamer.store.directory import Directory
from gossamer.testing import FakeClock
from gossamer.web.access.login import same_site
from gossamer.web.access.tokens import (
    MOST_SESSIONS,
    MOST_SOURCES,
    MOST_WRONG,
    SESSION_S,
    WINDOW_S,
    AccessTokens,
    Role,
    Sessions,
    Tries,
    is_near,
    kept_keys,
    keys_of,
    source_of,
)


def test_each_token_has_its_role_and_any_other_text_is_anonymous() -> None:
    assert KEYS.role_of(KEYS.admin) is Role.ADMIN
    assert KEYS.role_of(KEYS.reader) is Role.USER
    for wrong in ("", " ", KEYS.admin[:-1], KEYS.admin + "x", KEYS.admin.upper(), "é\ud800", "\0"):
        assert KEYS.role_of(wrong) is Role.ANONYMOUS


def test_F_W8_an_empty_token_is_never_accepted() -> None:
    for empty in (AccessTokens(), AccessTokens(admin="x" * 40), AccessTokens(reader="x" * 40)):
        assert empty.role_of("") is Role.ANONYMOUS


@pytest.mark.parametrize("role", [Role.USER, Role.ADMIN])
def test_a_session_is_valid_until_it_expires_or_a_token_is_renewed(role: Role) -> None:
    clock, keys = FakeClock(), [KEYS]
    sessions = Sessions(lambda: keys[0], clock)
    id = sessions.begin(role)
    assert sessions.role_in(id) is role
    assert KEYS.admin not in id and KEYS.reader not in id, "browsers send a cookie to every port of the host"
    clock.advance(SESSION_S - 1)
    assert sessions.role_in(id) is role
    later = sessions.begin(role)
    clock.advance(2)
    assert (sessions.role_in(id), sessions.role_in(later)) == (Role.ANONYMOUS, role)
    keys[0] = AccessTokens(KEYS.admin, "new" * 20)
    assert sessions.role_in(later) is Role.ANONYMOUS and len(sessions) == 0
    keys[0] = KEYS
    assert sessions.role_in(later) is Role.ANONYMOUS, "it stays invalid when the old token returns"


def test_a_session_id_cannot_be_invented_and_the_number_of_sessions_is_limited() -> None:
    sessions = Sessions(lambda: KEYS, FakeClock())
    ids = [sessions.begin(Role.ADMIN) for _ in range(MOST_SESSIONS + 5)]
    assert len(sessions) == MOST_SESSIONS and len(set(ids)) == len(ids) and all(len(id) >= 43 for id in ids)
    assert sessions.role_in(ids[4]) is Role.ANONYMOUS and sessions.role_in(ids[5]) is Role.ADMIN
    for wrong in ("", ids[-1][:-1], ids[-1] + "x", ids[-1].swapcase(), "admin", "\ud800", "admin.99999999999.x"):
        assert sessions.role_in(wrong) is Role.ANONYMOUS


def test_F_X18_signing_out_ends_the_session_on_the_server() -> None:
    gate = gate_of(FakeClock(), is_open=False)
    cookie = f"{COOKIE}={asyncio.run(ask(gate, f'/?token={KEYS.admin}')).cookie}"
    other = f"{COOKIE}={asyncio.run(ask(gate, f'/?token={KEYS.admin}')).cookie}"

    def role(cookie: str) -> str:
        answer = asyncio.run(ask(gate, "/", cookie=cookie))
        return answer.text if answer.status == 200 else str(answer.status)

    assert (role(cookie), role(other)) == ("admin", "admin")
    signed_out = asyncio.run(ask(site_of(gate), "/door/leave", "POST", cookie=cookie))
    assert signed_out.status == 303 and "Max-Age=0" in signed_out.headers["set-cookie"]
    assert (role(cookie), role(other)) == ("401", "admin"), "only the session that signed out has ended"
    again = asyncio.run(ask(gate, f"/?token={KEYS.reader}", cookie=other)).cookie
    assert (role(other), role(f"{COOKIE}={again}")) == ("401", "user"), "signing in again replaces the session"


def test_F_X18_a_token_file_that_changes_ends_every_session_and_the_old_token(tmp_path: Path) -> None:
    directory, files = Directory(tmp_path), DiskFiles()
    first = keys_of(directory, files)
    gate = gate_of(FakeClock(), keys=lambda: kept_keys(directory, files), is_open=False)
    cookies = [f"{COOKIE}={asyncio.run(ask(gate, f'/?token={token}')).cookie}" for token in (first.admin, first.reader)]

    def statuses() -> list[int]:
        return [asyncio.run(ask(gate, "/", cookie=cookie)).status for cookie in cookies]

    assert statuses() == [200, 200]
    (tmp_path / "token").write_text("a token chosen by the owner, long enough\n")
    assert statuses() == [401, 401]
    assert asyncio.run(ask(gate, "/", authorization=f"Bearer {first.admin}")).status == 401
    assert asyncio.run(ask(gate, "/", authorization=f"Bearer {first.reader}")).text == "user"
    for text in ("", "short\n"):
        (tmp_path / "token").write_text(text)
        assert asyncio.run(ask(gate, "/", authorization=f"Bearer {text.strip()}")).status == 401
    (tmp_path / "token").unlink()
    assert asyncio.run(ask(gate, "/", authorization="Bearer ")).status == 401


@pytest.mark.parametrize(
    "target", ["//evil.test", "/\\evil.test", "https://evil.test", "evil", "", "/a\n", "/\t/evil.test", "\\", "/\x00"]
)
def test_F_W5_redirects_lead_only_to_paths_of_this_site(target: str) -> None:
    assert same_site(target) == "/"


def test_F_W5_paths_of_this_site_are_accepted() -> None:
    for target in ("/", "/page?url=http://a.test/", "/crawl#x", "/é"):
        assert same_site(target) == target


def test_a_link_with_a_token_starts_a_session_and_redirects_to_the_url_without_it() -> None:
    gate = gate_of(FakeClock())
    answer = asyncio.run(ask(gate, f"/page?url=http%3A%2F%2Fa.test%2F%3Fa%3D1&token={KEYS.admin}&q=x"))
    assert answer.status == 303 and answer.headers["location"] == "/page?url=http%3A%2F%2Fa.test%2F%3Fa%3D1&q=x"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie and KEYS.admin not in cookie
    assert asyncio.run(ask(gate, "/", cookie=f"{COOKIE}={answer.cookie}")).text == "admin"


@pytest.mark.parametrize("path", ["//evil.test/", "/\\evil.test/", "/%5Cevil.test", "/%2Fevil.test", "/%0d%0aX:y"])
def test_F_W5_a_link_with_a_token_redirects_only_to_this_site(path: str) -> None:
    answer = asyncio.run(ask(gate_of(FakeClock()), f"{path}?token={KEYS.admin}"))
    location = answer.headers["location"]
    assert location.startswith("/") and location[1:2] not in ("/", "\\") and "\n" not in location


def test_a_program_sends_its_token_with_every_request() -> None:
    gate = gate_of(FakeClock())
    for role, bearer in BEARER.items():
        assert asyncio.run(ask(gate, "/", authorization=bearer)).text == role
        assert asyncio.run(ask(gate, "/", authorization=bearer.replace("Bearer", "bearer"))).text == role
    assert asyncio.run(ask(gate, "/")).text == "anonymous", "a role does not carry over to the next request"
    wrong = asyncio.run(ask(gate, "/", authorization="Bearer no"))
    assert wrong.status == 401 and wrong.headers["www-authenticate"].startswith("Bearer")


def test_F_W6_a_change_needs_the_administrators_token_and_must_come_from_our_own_pages() -> None:
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


def test_F_W7_a_script_of_another_site_may_not_start_queries() -> None:
    gate = gate_of(FakeClock())
    hidden = asyncio.run(ask(gate, "/sparql?query=x", sec_fetch_site="cross-site", sec_fetch_mode="no-cors"))
    followed = asyncio.run(ask(gate, "/", sec_fetch_site="cross-site", sec_fetch_mode="navigate"))
    assert hidden.status == 403 and followed.status == 200


def test_requests_from_other_machines_need_a_token() -> None:
    gate = gate_of(FakeClock(), is_open=False)
    assert asyncio.run(ask(gate, "/search.json?q=x")).status == 401
    browser = asyncio.run(ask(gate, "/?q=a%26b", accept="text/html"))
    assert (browser.status, browser.headers["location"]) == (303, "/door?next=%2F%3Fq%3Da%2526b")
    assert asyncio.run(ask(gate, "/sparql", "POST", b"query=x")).status == 401
    for public in ("/door", "/robots.txt", "/static/gossamer.css"):
        assert asyncio.run(ask(gate, public)).status == 200
    for role, bearer in BEARER.items():
        assert asyncio.run(ask(gate, "/search.json", authorization=bearer)).text == role
    for trick in ("/DOOR", "/door/", "/door/x", "//door", "/statics"):
        assert asyncio.run(ask(gate, trick)).status == 401


def test_F_W8_guessing_is_slowed_down_for_the_guessing_client_only() -> None:
    clock = FakeClock()
    gate = gate_of(clock, is_open=False)

    def status_of(token: str, client: str) -> int:
        return asyncio.run(ask(gate, "/x", client=client, authorization=f"Bearer {token}")).status

    assert [status_of(f"guess {n}", "20.0.0.1") for n in range(MOST_WRONG)] == [401] * MOST_WRONG
    assert status_of("one more", "20.0.0.1") == 429
    assert status_of(KEYS.admin, "20.0.0.1") == 200, "the right token is always accepted"
    assert status_of("wrong", "20.0.0.2") == 401
    clock.advance(WINDOW_S)
    assert status_of("wrong", "20.0.0.1") == 401


@pytest.mark.parametrize(
    "sent",
    [
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"},
        {"sec_fetch_site": "same-site", "sec_fetch_mode": "navigate"},
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"referer": "http://evil.test/page"},
        {"host": "evil.test"},
        {},
    ],
)
@pytest.mark.parametrize("way", ["link", "form", "bearer"])
def test_F_X14_requests_sent_by_other_sites_do_not_lock_the_owner_out(sent: dict[str, str], way: str) -> None:
    """The last case is a program on the owner's machine: its tries count, and the right token is still accepted."""
    gate = gate_of(FakeClock(), is_open=False)
    app = site_of(gate)

    async def status_of(token: str, **headers: str) -> int:
        if way == "form":
            body = f"token={token}".encode()
            return (await ask(app, "/door", "POST", body, **headers)).status
        if way == "link":
            return (await ask(app, f"/?token={token}", **headers)).status
        return (await ask(app, "/", authorization=f"Bearer {token}", **headers)).status

    async def main() -> None:
        for number in range(3 * MOST_WRONG):
            status = await status_of(f"wrong{number}", **sent)
            assert status in (401, 403, 421) or (not sent and status == 429)
        assert await status_of("mistyped") == (401 if sent else 429), "only our own tries count"
        assert await status_of(KEYS.admin) == (200 if way == "bearer" else 303)

    asyncio.run(main())
    assert len(gate._entrance.tries) == 1


def test_F_X14_many_guessing_clients_do_not_lock_others_out() -> None:
    gate = gate_of(FakeClock(), is_open=False)

    def status_of(token: str, client: str) -> int:
        return asyncio.run(ask(gate, f"/?token={token}", client=client)).status

    session = asyncio.run(ask(gate, f"/?token={KEYS.reader}", client="20.1.0.1")).cookie
    for number in range(300):
        assert status_of("wrong", f"20.0.{number % 250}.{number % 3}") == 401
    for client in ("20.9.9.9", "127.0.0.1", "::1"):
        assert status_of("wrong", client) == 401 and status_of(KEYS.admin, client) == 303
    answer = asyncio.run(ask(gate, "/", client="20.1.0.1", cookie=f"{COOKIE}={session}"))
    assert answer.text == "user", "an existing session stays valid"


def test_F_X14_the_memory_for_failed_tries_is_bounded() -> None:
    clock = FakeClock()
    tries = Tries(clock)
    for number in range(MOST_SOURCES * 3):
        tries.add(f"20.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(tries) == MOST_SOURCES
    for _ in range(MOST_WRONG):
        tries.add("30.0.0.1")
    assert tries.are_too_many("30.0.0.1") and not tries.are_too_many("20.0.0.0")
    clock.advance(WINDOW_S)
    assert not tries.are_too_many("30.0.0.1")


def test_a_source_is_an_ipv4_address_or_an_ipv6_network() -> None:
    assert source_of("2001:db8:1:2::1") == source_of("2001:db8:1:2:ffff::9%eth0") == "2001:db8:1:2::/64"
    assert source_of("2001:db8:1:3::1") != source_of("2001:db8:1:2::1")
    assert source_of("::ffff:20.0.0.1") == source_of("20.0.0.1") == "20.0.0.1"
    assert source_of("a name") == "a name"


def test_only_loopback_addresses_are_near() -> None:
    assert all(map(is_near, ("127.0.0.1", "127.9.9.9", "::1", "::1%lo")))
    assert not any(map(is_near, ("10.0.0.1", "testclient", "", "20.0.0.1", "fe80::1%eth0")))


def test_F_W18_scripts_of_other_sites_read_only_public_pages_and_only_without_a_login() -> None:
    public = gate_of(FakeClock(), is_public=True)
    plain = asyncio.run(ask(public, "/search.json", origin="http://other.test"))
    assert plain.headers["access-control-allow-origin"] == "*"
    cookie = f"{COOKIE}={asyncio.run(ask(public, f'/?token={KEYS.reader}')).cookie}"
    for headers in ({"authorization": BEARER["user"]}, {"cookie": cookie}):
        assert "access-control-allow-origin" not in asyncio.run(ask(public, "/search.json", **headers)).headers
    for gate in (gate_of(FakeClock()), gate_of(FakeClock(), is_open=False)):
        for headers in ({}, {"authorization": BEARER["user"]}, {"origin": "http://other.test"}):
            answer = asyncio.run(ask(gate, "/search.json", **headers))
            assert not [name for name in answer.headers if name.startswith("access-control")]
    assert asyncio.run(ask(public, "/crawl/stop", "POST", origin="http://other.test")).status == 403


def test_tokens_are_created_once_kept_private_and_renewed_on_request(tmp_path: Path) -> None:
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


def test_a_token_is_random_and_safe_in_a_url() -> None:
    tokens = {random_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(one) >= 43 and one.replace("-", "").replace("_", "").isalnum() for one in tokens)


def test_tokens_work_with_the_real_clock() -> None:
    assert asyncio.run(ask(gate_of(SystemClock()), "/", authorization=BEARER["admin"])).text == "admin"
