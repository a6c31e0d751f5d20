"""The rules of the crawl: edited, tried out on what waits, saved, and undone."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse

from gossamer.web.answers import answers_with, json_answer
from gossamer.web.crawl_forms import Notice, Notices, form_of, refusal, then, told
from gossamer.web.crawl_rooms import Effect, Rules, RulesChanged, Wrong
from gossamer.web.rooms import WebRooms
from gossamer.web.showing import Show

SECONDS = 2.0
MOST_SECONDS = 20.0
LONGEST = 48_000
"""Of rules that are tried out: they stand in the address."""
EXAMPLES = (
    ('exclude path ~ "/calendar/"', "leave out addresses whose path holds this pattern"),
    ("exclude host = shop.example.org", "leave out a site"),
    ("exclude query has sessionid", "leave out addresses with this parameter"),
    ("exclude type = application/pdf", "drop answers of this type"),
    ("later 2 depth > 6", "visit deep pages later"),
    ("sooner 2 host = news.example.org", "visit a site sooner"),
    ("include domain = example.org", "only what is included; everything else stays out"),
)


class RulesNow(msgspec.Struct, frozen=True):
    """The rules in force; or rules that are tried out, and what they would do."""

    text: str
    is_draft: bool
    wrong: tuple[Wrong, ...]
    effect: Effect | None
    """What a draft would do to what waits; None without one, or when something is wrong with it."""


Draft = Annotated[str | None, Query(max_length=LONGEST, description="Rules to be tried out; nothing is saved.")]
Added = Annotated[str, Query(max_length=2000, description="One rule to be tried out beside those in force.")]
Seconds = Annotated[float, Query(ge=0.1, le=MOST_SECONDS, description="How long to look through what waits.")]


def router(rooms: WebRooms, show: Show, notices: Notices) -> APIRouter:
    routes = APIRouter()

    def shown(
        rules: Rules, now: RulesNow, mark: str, seconds: float, said: Notice | None, status_code: int = 200
    ) -> Response:
        return show(
            "rules.html",
            status_code,
            rules=rules,
            now=now,
            mark=mark,
            seconds=seconds,
            said=said,
            examples=EXAMPLES,
            longer=min(MOST_SECONDS, seconds * 5),
        )

    @routes.get("/crawl/rules", response_class=HTMLResponse)
    def page(
        draft: Draft = None,
        add: Added = "",
        mark: Annotated[str, Query(max_length=20)] = "",
        seconds: Seconds = SECONDS,
        said: Annotated[str, Query(max_length=20)] = "",
    ) -> Response:
        rules = rooms.crawl.rules()
        return shown(rules, now_of(rooms, rules, draft, add, seconds), mark or rules.mark, seconds, notices.named(said))

    @routes.get("/crawl/rules.json", responses=answers_with(RulesNow))
    def as_json(draft: Draft = None, add: Added = "", seconds: Seconds = SECONDS) -> Response:
        """The rules in force, or what others would do: which of the addresses that wait they would keep out."""
        return json_answer(now_of(rooms, rooms.crawl.rules(), draft, add, seconds))

    @routes.post("/crawl/rules/save", include_in_schema=False)
    async def save(request: Request) -> Response:
        fields = await form_of(request)
        text, mark = fields.get("draft", "").replace("\r\n", "\n"), fields.get("mark", "")
        wrong = rooms.crawl.wrong(text)
        rules = await run_in_threadpool(rooms.crawl.rules)
        now = RulesNow(text, True, wrong, None)
        if wrong:
            words = f"Nothing is saved: {len(wrong)} line{'s are' if len(wrong) > 1 else ' is'} no rule."
            return shown(rules, now, mark, SECONDS, Notice(words, "bad"), 400)
        try:
            notice = Notice(await rooms.crawl.save_rules(text, mark))
        except RulesChanged as trouble:
            lines = ("Look at both, and save again to replace them with yours.",)
            return shown(rules, now, rules.mark, SECONDS, Notice(refusal(trouble).words, "bad", lines), 409)
        return then(request, notices, notice, "/crawl/rules")

    @routes.post("/crawl/rules/undo", include_in_schema=False)
    async def undo(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.undo_rules()), "/crawl/rules")

    return routes


def now_of(rooms: WebRooms, rules: Rules, draft: str | None, add: str, seconds: float) -> RulesNow:
    if draft is None and not add.strip():
        return RulesNow(rules.text, False, rules.wrong, None)
    text = (rules.text if draft is None else draft).replace("\r\n", "\n")
    if add.strip():
        text = (text.rstrip() + "\n" if text.strip() else "") + " ".join(add.split()) + "\n"
    wrong = rooms.crawl.wrong(text)
    return RulesNow(text, True, wrong, None if wrong else rooms.crawl.effect(text, seconds))
