"""The rules of the crawl: edited, tried out on what waits, saved, and undone."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse

from gossamer.web.answers import answers_with, json_answer
from gossamer.web.crawl.changes import change, field
from gossamer.web.crawl.forms import FormNotice, Notices, form_of, is_program, refusal, then, told
from gossamer.web.crawl.rooms import Effect, RulesChanged, RuleSet, Wrong
from gossamer.web.page_frame import Show
from gossamer.web.rooms import WebRooms

SECONDS = 2.0
MOST_SECONDS = 20.0
LONGEST = 48_000
"""Of rules that are tried out: they stand in the address."""
EXAMPLES = (
    ('exclude path ~ "/calendar/"', "exclude URLs whose path contains this pattern"),
    ("exclude host = shop.example.org", "exclude a site"),
    ("exclude query has sessionid", "exclude URLs with this query parameter"),
    ("exclude type = application/pdf", "drop responses of this type"),
    ("later 2 depth > 6", "fetch deep pages later"),
    ("sooner 2 host = news.example.org", "fetch a site sooner"),
    ("include domain = example.org", "only what is included; everything else is excluded"),
)
MOST_LINES = 50
BOTH = "Compare both versions, and save again to replace them with yours."
SAVE_FORM = {
    "draft": field("The complete new rules, one per line.", needed=True),
    "mark": field("Version of the rules being replaced, from /crawl/rules.json: someone else may have changed them."),
}


class RulesNow(msgspec.Struct, frozen=True):
    """The rules in force; or rules that are tried out, and what they would do."""

    text: str
    is_draft: bool
    mark: str
    """Of the rules in force: whoever saves others sends it along, so that nobody's change is lost unseen."""
    wrong: tuple[Wrong, ...]
    effect: Effect | None
    """What a draft would do to what waits; None without one, or when something is wrong with it."""


Draft = Annotated[str | None, Query(max_length=LONGEST, description="Rules to preview; nothing is saved.")]
Added = Annotated[str, Query(max_length=2000, description="One rule to preview in addition to the current ones.")]
Seconds = Annotated[
    float, Query(ge=0.1, le=MOST_SECONDS, description="How long to search through the queue, in seconds.")
]


def router(rooms: WebRooms, show: Show, notices: Notices) -> APIRouter:
    routes = APIRouter()

    def shown(
        rules: RuleSet, now: RulesNow, mark: str, seconds: float, said: FormNotice | None, status_code: int = 200
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
        """The rules in force, or the effect of others: which of the waiting URLs they would exclude."""
        return json_answer(now_of(rooms, rooms.crawl.rules(), draft, add, seconds))

    @routes.post("/crawl/rules/save", summary="Save the rules of the crawl", **change(**SAVE_FORM))
    async def save(request: Request) -> Response:
        """All or nothing: if a line is not a valid rule, it is reported and the rules stay as they were."""
        fields = await form_of(request)
        text, mark = fields.get("draft", "").replace("\r\n", "\n"), fields.get("mark", "")
        wrong = rooms.crawl.wrong(text)
        rules = await run_in_threadpool(rooms.crawl.rules)
        now = RulesNow(text, True, rules.mark, wrong, None)
        if wrong:
            said = not_saved(wrong)
            if is_program(request):
                return json_answer(said, 409)
            return shown(rules, now, mark, SECONDS, FormNotice(said.words, "bad"), 400)  # the page points at the lines
        try:
            notice = FormNotice(await rooms.crawl.save_rules(text, mark))
        except RulesChanged as trouble:
            said = FormNotice(refusal(trouble).words, "bad", (BOTH,))
            return json_answer(said, 409) if is_program(request) else shown(rules, now, rules.mark, SECONDS, said, 409)
        return then(request, notices, notice, "/crawl/rules")

    @routes.post("/crawl/rules/undo", summary="Undo the last change to the rules", **change())
    async def undo(request: Request) -> Response:
        return then(request, notices, await told(rooms.crawl.undo_rules()), "/crawl/rules")

    return routes


def not_saved(wrong: Sequence[Wrong]) -> FormNotice:
    words = f"Not saved: {len(wrong)} line{'s are not valid rules' if len(wrong) > 1 else ' is not a valid rule'}."
    lines = [f"line {one.line}, column {one.column}: {one.says}" for one in wrong[:MOST_LINES]]
    return FormNotice(words, "bad", tuple(lines))


def now_of(rooms: WebRooms, rules: RuleSet, draft: str | None, add: str, seconds: float) -> RulesNow:
    if draft is None and not add.strip():
        return RulesNow(rules.text, False, rules.mark, rules.wrong, None)
    text = (rules.text if draft is None else draft).replace("\r\n", "\n")
    if add.strip():
        text = (text.rstrip() + "\n" if text.strip() else "") + " ".join(add.split()) + "\n"
    wrong = rooms.crawl.wrong(text)
    return RulesNow(text, True, rules.mark, wrong, None if wrong else rooms.crawl.effect(text, seconds))
