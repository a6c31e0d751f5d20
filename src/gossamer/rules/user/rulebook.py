"""The user's rules: which URLs within the scope are accepted, and which are fetched earlier or later.

They are in `rules.txt`, one per line, with `#` before comments:

    include domain = example.org
    exclude path ~ "/calendar/\\d{4}"
    exclude type = application/pdf
    sooner 2 host = news.example.org
    later 1 depth > 6
    near eu domain = de
    seed https://example.org/docs/: path ~ "^/docs/" and not query has print

The last include or exclude that applies decides, so a rule added at the end wins. A URL that no rule matches is
accepted, unless there is an include. A rule for a seed applies to the URLs in that seed's reach. The seeds themselves
are always accepted. Rules narrow the scope and never widen it: none leads to a site that the seeds do not reach.
"""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from gossamer.rules.scope import Reach, Scope, scope_of
from gossamer.rules.scope import judge as judge_scope
from gossamer.rules.user.language import Expression, RuleSubject, expression_of
from gossamer.rules.user.regex import RuleSyntaxError
from gossamer.values.link import How
from gossamer.values.outcome import ALLOWED, Allowed, Denied, FilterFailed
from gossamer.values.url import Url, url_of

MOST_NUDGE = 4


class Unknown(msgspec.Struct, frozen=True):
    """It depends on the content type, not known yet: the URL is accepted, and judged again with its headers."""


UNKNOWN = Unknown()
Judgement = Allowed | Denied | Unknown
OwnFilter = Callable[[str, int], Allowed | Denied | FilterFailed]
"""A custom filter, already made safe to call (`plugins.filters`): URL and depth to a verdict."""


class RuleKind(StrEnum):
    INCLUDE = "include"
    EXCLUDE = "exclude"
    SOONER = "sooner"
    LATER = "later"
    NEAR = "near"
    SEED = "seed"


class Rule(msgspec.Struct, frozen=True):
    kind: RuleKind
    text: str
    """As written."""
    line: int
    expression: Expression
    amount: int = 0
    """For sooner and later."""
    seed: Url | None = None
    label: str = ""
    """For near: of the nodes of a cluster."""

    @property
    def in_words(self) -> str:
        return f"rule {self.line}: {self.text}"


class RuleProblem(msgspec.Struct, frozen=True):
    """Why a line is not a valid rule."""

    line: int
    column: int
    """From 1, as editors count."""
    says: str
    text: str

    @property
    def in_words(self) -> str:
        return f"line {self.line}, column {self.column}: {self.says}\n  {self.text}\n  {' ' * (self.column - 1)}^"


class Problems(msgspec.Struct, frozen=True):
    problems: tuple[RuleProblem, ...]

    @property
    def in_words(self) -> str:
        return "\n".join(problem.in_words for problem in self.problems)


class RuleBook(msgspec.Struct, frozen=True):
    """Parsed rules, made by `load_rules`; `for_seeds` adds how far each seed reaches."""

    rules: tuple[Rule, ...] = ()
    deciding: tuple[Rule, ...] = ()
    """include and exclude, the last first."""
    nudging: tuple[Rule, ...] = ()
    placing: tuple[Rule, ...] = ()
    """near."""
    by_seed: tuple[tuple[Scope, tuple[Rule, ...]], ...] = ()
    """Seeds with rules, and the reach of each."""
    free: Scope = Scope()
    """The reach of the seeds without rules."""

    @property
    def decides(self) -> bool:
        """Whether any rule can exclude a URL."""
        return bool(self.deciding or self.by_seed)

    def judge(self, url: Url, depth: int, media_type: str | None = None) -> Judgement:
        """`media_type` is given once the headers have arrived; then the answer is never Unknown."""
        if not self.decides:
            return ALLOWED
        subject = RuleSubject(url, depth, media_type)
        first = self._by_rules(subject)
        if isinstance(first, Denied) or not self.by_seed:
            return first
        second = self._by_seeds(subject)
        return first if isinstance(second, Allowed) else second

    def nudge(self, url: Url, depth: int) -> int:
        """How much earlier (negative) or later; all that apply add up, within -4 and 4."""
        if not self.nudging:
            return 0
        subject = RuleSubject(url, depth, None)
        total = sum(rule.amount for rule in self.nudging if rule.expression.holds(subject))
        return max(-MOST_NUDGE, min(MOST_NUDGE, total))

    def is_near(self, host: str, labels: frozenset[str]) -> bool:
        """Whether a node with these labels is among those that rules prefer for a host; true for all without a rule."""
        subject = RuleSubject(Url(f"http://{host}/"), 0, None)
        wanted = {rule.label for rule in self.placing if rule.expression.holds(subject)}
        return not wanted or not labels.isdisjoint(wanted)

    def for_seeds(self, seeds: Sequence[tuple[Url, Reach]]) -> "RuleBook":
        """The same rules, with the URLs that belong to each seed."""
        ruled = {rule.seed for rule in self.rules if rule.seed is not None}
        reaches = dict(seeds)
        by_seed = [
            (scope_of([(seed, reaches.get(seed, Reach.HOST))]), tuple(one for one in self.rules if one.seed == seed))
            for seed in sorted(ruled, key=str)
        ]
        free = scope_of([(seed, reach) for seed, reach in seeds if seed not in ruled])
        return msgspec.structs.replace(self, by_seed=tuple(by_seed), free=free)

    def _by_rules(self, subject: RuleSubject) -> Judgement:
        possible: Judgement | None = None
        for rule in self.deciding:
            held = rule.expression.holds(subject)
            if held is False:
                continue
            says = ALLOWED if rule.kind is RuleKind.INCLUDE else Denied(rule.in_words)
            if possible is not None and type(possible) is not type(says):
                return UNKNOWN
            if held:
                return says
            possible = says
        has_include = any(rule.kind is RuleKind.INCLUDE for rule in self.deciding)
        default = Denied("no include rule matches it") if has_include else ALLOWED
        return default if possible is None or type(possible) is type(default) else UNKNOWN

    def _by_seeds(self, subject: RuleSubject) -> Judgement:
        """One accepting seed is enough; URLs that no seed with rules reaches are not affected."""
        refused: Judgement = ALLOWED
        for scope, rules in self.by_seed:
            if isinstance(judge_scope(subject.url, 0, scope), Denied):
                continue
            held = [rule.expression.holds(subject) for rule in rules]
            if all(held):
                return ALLOWED
            if False not in held:
                refused = UNKNOWN
            elif refused is not UNKNOWN:
                refused = Denied(rules[held.index(False)].in_words)
        is_free = not isinstance(refused, Allowed) and isinstance(judge_scope(subject.url, 0, self.free), Allowed)
        return ALLOWED if is_free else refused


NO_RULES = RuleBook()
UNRULED = frozenset((How.SEED, How.ROBOTS, How.MAP))


def judge(
    url: Url, depth: int, how: How, scope: Scope, book: RuleBook = NO_RULES, own: Sequence[OwnFilter] = ()
) -> Judgement | FilterFailed:
    """Whether a URL at this depth may enter the crawl: first the scope, then the rules, then custom filters.

    One refusing filter is enough, even if another failed. Seeds, and where they redirect to, were named by the user,
    and a sitemap is not a page: for them the scope alone decides.
    """
    verdict = judge_scope(url, depth, scope)
    if isinstance(verdict, Denied) or how in UNRULED or (how is How.REDIRECT and depth == 0):
        return verdict
    ruled = book.judge(url, depth)
    if isinstance(ruled, Denied):
        return ruled
    failed: FilterFailed | None = None
    for accepts in own:
        found = accepts(url.text, depth)
        if isinstance(found, Denied):
            return found
        if isinstance(found, FilterFailed):
            failed = failed or found
    return failed or ruled


def load_rules(text: str) -> RuleBook | Problems:
    """Parse a whole rules.txt; reports all errors at once."""
    rules, problems = list[Rule](), list[RuleProblem]()
    for number, line in enumerate(text.splitlines(), 1):
        read = line.strip()
        if not read or read.startswith("#"):
            continue
        found = rule_of(read, number)
        if isinstance(found, RuleProblem):
            problems.append(msgspec.structs.replace(found, column=found.column + line.index(read), text=line))
        else:
            rules.append(found)
    return Problems(tuple(problems)) if problems else book_of(rules)


def book_of(rules: Sequence[Rule]) -> RuleBook:
    deciding = tuple(rule for rule in reversed(rules) if rule.kind in (RuleKind.INCLUDE, RuleKind.EXCLUDE))
    nudging = tuple(rule for rule in rules if rule.kind in (RuleKind.SOONER, RuleKind.LATER))
    placing = tuple(rule for rule in rules if rule.kind is RuleKind.NEAR)
    return RuleBook(tuple(rules), deciding, nudging, placing).for_seeds(())


_HEAD = re.compile(r"(include|exclude|sooner|later|near|seed)(?:\s+|$)")
_AMOUNT = re.compile(r"([1-9]\d*)\s+")
_LABEL = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})\s+(?!=)")
_SEED = re.compile(r"(\S+):(?:\s+|$)")


def rule_of(text: str, line: int = 1) -> Rule | RuleProblem:
    """Parse one rule, as on a line of its own."""
    head = _HEAD.match(text)
    if head is None:
        return RuleProblem(line, 1, "a rule begins with include, exclude, sooner, later, near or seed", text)
    kind, at = RuleKind(head[1]), head.end()
    try:
        amount, seed, label = 0, None, ""
        if kind is RuleKind.SEED:
            seed, at = _seed(text, at)
        elif kind in (RuleKind.SOONER, RuleKind.LATER):
            amount, at = _amount(text, at)
        elif kind is RuleKind.NEAR:
            label, at = _label(text, at)
        amount = -amount if kind is RuleKind.SOONER else amount
        return Rule(kind, text, line, expression_of(text, at), amount, seed, label)
    except RuleSyntaxError as error:
        return RuleProblem(line, error.at + 1, error.says, text)


def _amount(text: str, at: int) -> tuple[int, int]:
    found = _AMOUNT.match(text, at)
    if found is None or int(found[1]) > MOST_NUDGE:
        raise RuleSyntaxError(f"an amount from 1 to {MOST_NUDGE} must follow, as in: sooner 2 host = example.org", at)
    return int(found[1]), found.end()


def _label(text: str, at: int) -> tuple[str, int]:
    found = _LABEL.match(text, at)
    if found is None:
        raise RuleSyntaxError("the label of nodes must follow, as in: near eu domain = de", at)
    return found[1], found.end()


def _seed(text: str, at: int) -> tuple[Url, int]:
    found = _SEED.match(text, at)
    url = url_of(found[1]) if found is not None else None
    if found is None or url is None:
        raise RuleSyntaxError("a seed URL and a colon come first: seed https://example.org/: path ~ ...", at)
    return url, found.end()
