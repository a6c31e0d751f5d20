"""Soft 404s are distinguished from real pages."""

import random
from itertools import cycle

import pytest

from gossamer.parse.content import near
from gossamer.rules.learned.model import LearnedHosts
from gossamer.rules.learned.signs import ErrorPages, marks_of, what_it_says
from gossamer.values.messages import Marks, NotFoundClaim
from gossamer.values.url import Url

Shown = tuple[str, str, str, str]
"""URL, title, first heading, text."""

PLAIN = (
    (
        "Page not found",
        "Oops!",
        "Sorry, the page {path} could not be found. Go back to the start, or search this site.",
    ),
    ("404", "Nothing here", "The thing you are looking for is not here. Perhaps it never was. Try our start page."),
    ("Seite nicht gefunden | Hafen", "Fehler 404", "Die Seite {path} gibt es hier leider nicht. Zur Startseite."),
    ("Page introuvable", "Erreur 404", "La page {path} n'existe plus. Retournez à l'accueil du site, s'il vous plaît."),
    ("Página no encontrada", "Lo sentimos", "La página que busca ya no está. Vuelva al inicio o use el buscador."),
    ("Pagina non trovata", "Errore", "Il contenuto richiesto non è disponibile. Torna alla pagina iniziale."),
    (
        "ページが見つかりません",
        "エラー",
        "お探しのページは移動または削除された可能性があります。トップページへお戻りください。",
    ),
    ("Страница не найдена", "Ошибка", "Такой страницы у нас нет. Вернитесь на главную или воспользуйтесь поиском."),
    ("Our shop", "This product is no longer available", "See what else we have: {words}. Back to the shop."),
)
UNSAID = (
    (
        "Harbour Museum",
        "Well, this is awkward",
        "We looked in every drawer and under every table, and there is nothing.",
    ),
    (
        "Our shop",
        "",
        "Sorry about that. Our best people are on it. Meanwhile look around, there is so much else to see.",
    ),
)


def words(chance: random.Random, count: int) -> str:
    made = ("".join(chance.choices("bdfgklmnprst", k=2)) + "".join(chance.choices("aeiou", k=3)) for _ in range(count))
    return " ".join(made)


def dead_target(chance: random.Random) -> str:
    kinds = ("/{w}", "/{w}/{n}", "/old/{w}.html", "/p/{n}", "/{w}-{w}/", "/x/{w}?id={n}", "/2019/0{d}/{w}-{w}")
    filled = chance.choice(kinds).replace("{n}", str(chance.randrange(10**5))).replace("{d}", str(chance.randint(1, 9)))
    while "{w}" in filled:
        filled = filled.replace("{w}", words(chance, 1), 1)
    return filled


def soft_404s(count: int) -> list[Shown]:
    """Error pages of eleven hosts, each with its own wording."""
    chance, made = random.Random(1), []
    for number, (host, (title, heading, text)) in zip(range(count), cycle(enumerate((*PLAIN, *UNSAID)))):
        target = dead_target(chance)
        shown = text.replace("{path}", target).replace("{words}", words(chance, 6))
        made.append((f"http://h{host}.org{target}-{number}", title, heading, shown))
    return made


def real_pages(count: int) -> list[Shown]:
    """Articles, some of them about errors; short pages; and lists with few entries."""
    chance, made = random.Random(2), []
    for number in range(count):
        host = f"http://h{number % 11}.org"
        match number % 8:
            case 0:
                about = ("How to fix a 404 error", "Not found: what servers mean by it")[number // 8 % 2]
                made.append((f"{host}/help/{number}", about, about, f"{about}. {words(chance, 400)}"))
            case 1:
                made.append((f"{host}/tee/{number}", "Error 404 T-shirt", "T-shirt", f"Cotton. {words(chance, 60)}"))
            case 2:
                made.append(
                    (f"{host}/lost/{number}", "Lost and found", "Lost and found", f"Found: {words(chance, 30)}")
                )
            case 3:
                made.append((f"{host}/photo/{number}", words(chance, 3), "", words(chance, 8)))
            case _:
                name = words(chance, 3)
                made.append((f"{host}/entry/{number}", name, name, words(chance, 150)))
    return made


def judged(pages: list[Shown]) -> list[bool]:
    learning = LearnedHosts(1 << 20)
    found = []
    for url, title, heading, text in pages:
        marks = marks_of(text, near(text))
        says = what_it_says(title, (heading,), text, marks.words)
        found.append(bool(learning.learn(Url(url), marks, text.encode(), says).no_page))
    return found


def test_F_U8_soft_404s_are_found_and_real_pages_are_not_mistaken_for_them() -> None:
    soft, real = soft_404s(200), real_pages(400)
    mixed = [(page, True) for page in soft] + [(page, False) for page in real]
    random.Random(3).shuffle(mixed)
    verdicts = judged([page for page, _ in mixed])
    found = sum(verdict for verdict, (_, is_soft) in zip(verdicts, mixed, strict=True) if is_soft)
    wrong = [page for verdict, (page, is_soft) in zip(verdicts, mixed, strict=True) if verdict and not is_soft]
    assert len(soft) == 200 and found >= 190
    assert len(wrong) <= 4, wrong


@pytest.mark.parametrize(
    ("title", "text", "says"),
    [
        ("Page not found", "Sorry.", NotFoundClaim.PLAINLY),
        ("404 - Example", "Sorry.", NotFoundClaim.PLAINLY),
        ("Error 404 | Example", "Sorry.", NotFoundClaim.PLAINLY),
        ("Error 404 T-shirt", "Cotton, in three sizes.", NotFoundClaim.PERHAPS),
        ("Room 404 of the hotel", "A room with a view.", NotFoundClaim.PERHAPS),
        ("Example", "The page you asked for does not exist.", NotFoundClaim.PERHAPS),
        ("Example", "A page about lighthouses.", NotFoundClaim.NOTHING),
    ],
)
def test_what_a_short_page_claims_about_itself(title: str, text: str, says: NotFoundClaim) -> None:
    assert what_it_says(title, (), text, 20) is says


def test_a_long_page_about_missing_pages_is_a_page() -> None:
    assert what_it_says("Page not found: a history", (), "", 500) is NotFoundClaim.NOTHING


def test_a_copy_of_the_start_page_at_another_url_is_a_soft_404() -> None:
    home = words(random.Random(4), 120)
    shown = [("http://h.org/", "Home", "", home)] + [(f"http://h.org/gone-{n}", "Home", "", home) for n in range(5)]
    assert judged(shown) == [False, True, True, True, True, True]


def test_a_host_may_have_several_error_pages_and_each_is_remembered() -> None:
    chance = random.Random(7)
    one, other = words(chance, 120), words(chance, 120)
    shown = [
        ("http://h.org/lost-a", "Page not found", "", one),
        ("http://h.org/lost-b", "Page not found", "", other),
        ("http://h.org/lost-c", "Harbour", "", one),
        ("http://h.org/lost-d", "Harbour", "", other),
        ("http://h.org/story", "Harbour", "", words(chance, 120)),
    ]
    assert judged(shown) == [True, True, True, True, False]


@pytest.mark.parametrize(
    "title",
    [
        "Not found", "Not - found", "No such page", "We can't find that", "Cant find it", "That cannot be found",
        "We couldn't locate it", "It could not be located", "Could not find it", "This could n't be found",
        "The page is missing", "This file does not exist", "The article doesn't exist", "That entry is no longer here",
        "Item not available", "The product you want is unavailable", "This address has been removed",
        "The link was deleted", "The topic has since been moved", "Profile no longer exists",
        "Nothing found here", "Nothing was found here",
        "Nicht gefunden", "Die Seite existiert nicht", "Nicht vorhanden", "Nicht mehr verfügbar",
        "Page introuvable", "La page n'existe pas", "Elle n'existe plus", "Non trouvé", "Page non trouvée",
        "Elle n'a pas été trouvée", "No se ha encontrado", "No se encuentra", "Página no encontrada", "No existe",
        "No ha sido encontrado",
        "Não encontrado", "Não foi encontrada", "A página não existe", "Non trovato", "Non è stata trovata",
        "La pagina non esiste", "Niet gevonden", "De pagina bestaat niet", "Nie znaleziono", "Nie została znaleziona",
        "Strona nie istnieje", "Sidan hittades inte", "Siden ble ikke funnet", "Ikke fundet", "Sivua ei löydy",
        "Stránka nebyla nalezena", "Sayfa bulunamadı", "Страница не найдена", "Страница не существует",
        "ページが見つかりません", "ページは存在しません", "找不到网页", "页面不存在", "페이지를 찾을 수 없습니다",
        "404", "Error 404", "HTTP 404", "Fehler 404", "Erreur 404", "Errore 404", "Fout 404", "Erro 404", "Fel 404",
        "404 | Example", "404 - Example", "404: gone", "404 – Example", "404 — Example", "404 (Example)", "404!",
        "404 error", "404 page", " 404 ",
    ],
)  # fmt: skip
def test_a_title_or_first_heading_says_it_plainly_in_any_of_these_languages(title: str) -> None:
    assert what_it_says(title, (), "", 1) is NotFoundClaim.PLAINLY
    assert what_it_says("Example", (title, "x"), "", 120) is NotFoundClaim.PLAINLY
    assert what_it_says("Example", ("x", title), "", 1) is NotFoundClaim.NOTHING, (
        "a later heading is about something else"
    )
    assert what_it_says(title, (title,), title, 121) is NotFoundClaim.NOTHING
    if "404" not in title:
        assert what_it_says("Example", (), title, 1) is NotFoundClaim.PERHAPS


@pytest.mark.parametrize(
    ("title", "text", "says"),
    [
        ("Peugeot 404", "", NotFoundClaim.PERHAPS),
        ("Version 1.404", "", NotFoundClaim.NOTHING),
        ("Version 404.1", "", NotFoundClaim.NOTHING),
        ("4040 own_links", "", NotFoundClaim.NOTHING),
        ("1404", "", NotFoundClaim.NOTHING),
        ("Example", "404", NotFoundClaim.NOTHING),
        ("x" * 391 + " not found", "", NotFoundClaim.NOTHING),
        ("x" * 390 + " not found", "", NotFoundClaim.PLAINLY),
        ("Example", "x" * 391 + " not found", NotFoundClaim.NOTHING),
        ("Example", "x" * 390 + " not found", NotFoundClaim.PERHAPS),
        ("404 of these", "", NotFoundClaim.PERHAPS),
        ("Lost and found", "", NotFoundClaim.NOTHING),
        ("The page of my life and of all that you and I will ever be is missing", "", NotFoundClaim.NOTHING),
    ],
)
def test_a_status_number_or_words_elsewhere_are_weaker_claims(title: str, text: str, says: NotFoundClaim) -> None:
    assert what_it_says(title, (), text, 20) is says


def shingled(*numbers: int) -> Marks:
    return Marks(99, (), numbers)


PATH = Url("http://h.org/x")
SIXTEEN = tuple(range(1, 17))


def changed(shingles: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The same shingles with the last `count` replaced."""
    return shingles[: len(shingles) - count] + tuple(range(1000, 1000 + count))


def test_a_known_error_page_matches_by_nine_tenths_or_by_half_if_it_makes_a_claim() -> None:
    twenty = tuple(range(1, 21))
    for says, most in ((NotFoundClaim.NOTHING, 2), (NotFoundClaim.PERHAPS, 9)):
        for count, is_same in ((most, True), (most + 1, False)):
            pages = ErrorPages()
            assert (
                pages.judge(PATH, shingled(*twenty), NotFoundClaim.PLAINLY)
                == "the page says that there is no such page"
            )
            verdict = pages.judge(PATH, shingled(*changed(twenty, count)), says)
            assert (verdict == "the same as this host's page for URLs that do not exist") is is_same, (says, count)
            assert pages.judge(Url("http://other.org/x"), shingled(*twenty), says) is None


def test_three_error_pages_of_a_host_are_remembered_and_copies_do_not_count() -> None:
    pages = ErrorPages()
    texts = [tuple(range(start, start + 20)) for start in (0, 100, 200, 300)]
    for text in (*texts[:3], changed(texts[2], 2), texts[2]):
        pages.judge(PATH, shingled(*text), NotFoundClaim.PLAINLY)
    assert [pages.judge(PATH, shingled(*text), NotFoundClaim.NOTHING) is None for text in texts] == [False] * 3 + [True]
    pages.judge(PATH, shingled(*texts[3]), NotFoundClaim.PLAINLY)
    assert [pages.judge(PATH, shingled(*text), NotFoundClaim.NOTHING) is None for text in texts] == [True] + [False] * 3


def test_the_start_page_is_recognised_by_its_first_eight_phrases_at_a_url_without_a_query() -> None:
    pages, start = ErrorPages(), Url("http://h.org/?home")
    assert pages.judge(start, shingled(*SIXTEEN), NotFoundClaim.PLAINLY) is None, "a start page is never an error page"
    for target, shingles, is_start in (
        ("/x", SIXTEEN, True),
        ("/x", changed(SIXTEEN, 8), True),
        ("/x", changed(SIXTEEN, 9), False),
        ("/x", SIXTEEN[:8], True),
        ("/x?y", SIXTEEN, False),
        ("/", SIXTEEN, False),
    ):
        verdict = pages.judge(Url(f"http://h.org{target}"), shingled(*shingles), NotFoundClaim.NOTHING)
        assert (verdict == "the start page, at another URL") is is_start, (target, shingles)
    short = ErrorPages()
    short.judge(start, shingled(*SIXTEEN[:7]), NotFoundClaim.NOTHING)
    assert short.judge(PATH, shingled(*SIXTEEN[:7]), NotFoundClaim.NOTHING) is None, "too short to recognise"


@pytest.mark.parametrize(
    ("templates", "says", "found_at"),
    [
        ("abcd", NotFoundClaim.NOTHING, 4),
        ("abca", NotFoundClaim.NOTHING, 4),
        ("abab", NotFoundClaim.NOTHING, None),
        ("aaab", NotFoundClaim.NOTHING, None),
        ("aaabc", NotFoundClaim.NOTHING, 5),
        ("aaa", NotFoundClaim.PERHAPS, 3),
        ("ab", NotFoundClaim.PERHAPS, None),
    ],
)
def test_a_text_seen_four_times_in_three_templates_is_an_error_page(
    templates: str, says: NotFoundClaim, found_at: int | None
) -> None:
    pages = ErrorPages()
    verdicts = [pages.judge_again(PATH, template, shingled(*SIXTEEN), says) for template in templates]
    assert next((at for at, verdict in enumerate(verdicts, 1) if verdict), None) == found_at
    known = pages.judge(PATH, shingled(*SIXTEEN), NotFoundClaim.NOTHING)
    assert (known is not None) is (found_at is not None), "it is remembered as an error page from then on"


def test_a_text_is_seen_again_when_any_four_phrases_in_a_row_are() -> None:
    for band in range(4):
        pages = ErrorPages()
        verdicts = []
        for number, template in enumerate("abcd"):
            other = tuple(range(1000 * (number + 1), 1000 * (number + 1) + 16))
            kept = SIXTEEN[4 * band : 4 * band + 4]
            shingles = other[: 4 * band] + kept + other[4 * band + 4 :]
            verdicts.append(pages.judge_again(PATH, template, shingled(*shingles), NotFoundClaim.NOTHING) is not None)
        assert verdicts == [False, False, False, True]
    pages = ErrorPages()
    for template in "abcd":
        assert pages.judge_again(PATH, template, shingled(*SIXTEEN[:15]), NotFoundClaim.NOTHING) is None, "too short"
        assert pages.judge_again(Url("http://h.org/?a"), template, shingled(*SIXTEEN), NotFoundClaim.NOTHING) is None
        assert (
            pages.judge_again(Url(f"http://{template}.org/x"), template, shingled(*SIXTEEN), NotFoundClaim.NOTHING)
            is None
        )


def test_known_error_pages_are_saved_and_restored() -> None:
    before, after = ErrorPages(), ErrorPages()
    before.judge(PATH, shingled(*SIXTEEN), NotFoundClaim.PLAINLY)
    before.judge(Url("http://h.org/"), shingled(*range(50, 66)), NotFoundClaim.NOTHING)
    for template in "abc":
        before.judge_again(PATH, template, shingled(*range(80, 96)), NotFoundClaim.NOTHING)
    for part in before.kept():
        after.recall(part)
    assert list(after.kept()) == list(before.kept()) and len(list(after.kept())) == 3
    assert after.judge(PATH, shingled(*SIXTEEN), NotFoundClaim.NOTHING) and after.judge(
        PATH, shingled(*range(50, 66)), NotFoundClaim.NOTHING
    )
    assert after.judge_again(PATH, "d", shingled(*range(80, 96)), NotFoundClaim.NOTHING)
