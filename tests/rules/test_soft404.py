"""Pages that are none, told from pages that are: 200 of each."""

import random
from itertools import cycle

import pytest

from gossamer.parse.fingerprints import near
from gossamer.rules.learned.marks import marks_of
from gossamer.rules.learned.model import Learning
from gossamer.rules.learned.soft404 import what_it_says
from gossamer.values.messages import Says
from gossamer.values.url import Url

Shown = tuple[str, str, str, str]
"""Address, title, first heading, text."""

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
    """Of eleven hosts, each with its own way to say it."""
    chance, made = random.Random(1), []
    for number, (host, (title, heading, text)) in zip(range(count), cycle(enumerate((*PLAIN, *UNSAID)))):
        target = dead_target(chance)
        shown = text.replace("{path}", target).replace("{words}", words(chance, 6))
        made.append((f"http://h{host}.org{target}-{number}", title, heading, shown))
    return made


def real_pages(count: int) -> list[Shown]:
    """Articles, some of them about errors; short pages; and lists with little in them."""
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
    learning = Learning(1 << 20)
    found = []
    for address, title, heading, text in pages:
        marks = marks_of(text, near(text))
        says = what_it_says(title, (heading,), text, marks.words)
        found.append(bool(learning.learn(Url(address), marks, text.encode(), says).no_page))
    return found


def test_F_U8_soft_404s_are_found_and_real_pages_are_not_taken_for_them() -> None:
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
        ("Page not found", "Sorry.", Says.PLAINLY),
        ("404 - Example", "Sorry.", Says.PLAINLY),
        ("Error 404 | Example", "Sorry.", Says.PLAINLY),
        ("Error 404 T-shirt", "Cotton, in three sizes.", Says.PERHAPS),
        ("Room 404 of the hotel", "A room with a view.", Says.PERHAPS),
        ("Example", "The page you asked for does not exist.", Says.PERHAPS),
        ("Example", "A page about lighthouses.", Says.NOTHING),
    ],
)
def test_what_a_short_page_says_of_itself(title: str, text: str, says: Says) -> None:
    assert what_it_says(title, (), text, 20) is says


def test_a_long_page_about_missing_pages_is_a_page() -> None:
    assert what_it_says("Page not found: a history", (), "", 500) is Says.NOTHING


def test_the_start_page_at_another_address_is_no_page() -> None:
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
