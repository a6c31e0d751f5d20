"""Recognising a language by its function words."""

import pytest

from gossamer.parse.language import has_function_words, language_of

TEXTS = {
    "en": "The keeper of the lighthouse wrote down that the ships which came from the north were late, and that their "
    "captains would have to wait for the tide with the others. There was nothing to be done about it.",
    "de": "Der Leuchtturmwärter schrieb auf, dass die Schiffe aus dem Norden nicht pünktlich waren und sich eine lange "
    "Reihe vor der Einfahrt bildete. Auch mit der Flut wird das nicht besser, und ein Ende ist nicht in Sicht.",
    "fr": "Le gardien du phare nota que les navires venus du nord étaient en retard et que les capitaines, qui avec "
    "leur équipage attendaient dans la baie, ne sont pas entrés au port. Cette nuit est longue pour des marins.",
    "es": "El guardián del faro anotó que los barcos del norte llegaban tarde y que las tripulaciones esperaban con "
    "paciencia en una bahía. También fue una noche muy larga, pero más tranquila según los marineros.",
    "it": "Il guardiano del faro scrisse che le navi del nord non erano puntuali e che gli equipaggi aspettavano nella "
    "baia. Anche questo è il mestiere di chi vive di mare, più che della terra, e sono tutti d'accordo.",
    "pt": "O faroleiro escreveu que os navios do norte não chegavam à hora e que uma longa fila esperava em silêncio. "
    "Também foi uma noite muito calma, com mais estrelas pelo céu, e os marinheiros são pacientes até ao fim.",
    "nl": "De wachter van de vuurtoren schreef dat het schip uit het noorden te laat was en dat een lange rij voor de "
    "haven lag. Deze nacht is niet kort, maar naar men zegt zijn de uren bij hun werk gewoon en geen klacht waard.",
    "pl": "Latarnik zapisał, że statki z północy nie są na czas oraz że kapitanowie, którzy czekali, nie mogą wejść do "
    "portu. Noc jest długa dla załogi, ale może być także spokojna, jako że wiatr się uspokoił przez ten czas.",
    "ru": "Смотритель маяка записал, что корабли с севера опоздали и что капитаны ждали прилива. Это была долгая ночь "
    "для команды, но если бы они вошли раньше, чтобы отдохнуть, было бы только хуже. Он также был рад.",
}
NEIGHBOURS = {
    "gl": "O faroleiro escribiu que os barcos do norte non chegaban a tempo e que unha longa fila agardaba na baía. "
    "Tamén foi unha noite moi tranquila, con máis estrelas polo ceo, e os mariñeiros son pacientes ata a fin.",
    "ca": "El guardià del far va escriure que els vaixells del nord feien tard i que les tripulacions esperaven amb "
    "paciència en una badia. També va ser una nit molt llarga, però més tranquil·la segons els mariners.",
    "af": "Die wagter van die vuurtoring het geskryf dat die skip uit die noorde laat was en dat 'n lang ry voor die "
    "hawe lê. Hierdie nag is nie kort nie, maar vir die bemanning is dit gewone ure en geen rede om te kla nie.",
    "da": "Fyrpasseren skrev, at skibene fra nord var forsinkede, og at en lang række lå foran havnen. Det er ikke "
    "en kort nat, men for besætningen er det almindelige timer og ingen grund til at klage over vejret.",
    "uk": "Доглядач маяка записав, що кораблі з півночі запізнилися і що капітани чекали припливу. Це була довга ніч "
    "для команди, але якби вони зайшли раніше, щоб відпочити, було б тільки гірше. Він також був радий.",
    "bg": "Пазачът на фара записа, че корабите от север закъсняват и че капитаните чакат прилива. Това беше дълга нощ "
    "за екипажа, но ако бяха влезли по-рано, за да починат, щеше да бъде само по-лошо. Той също се радваше.",
    "cs": "Strážce majáku zapsal, že lodě ze severu nejsou včas a že kapitáni, kteří čekali, nemohou vplout do "
    "přístavu. Noc je dlouhá pro posádku, ale může být také klidná, protože vítr se za tu dobu utišil.",
}
GERMAN = "Leuchttürme stehen an Küsten, wo Schiffe vorüberfahren, weithin sichtbar bei Tage wie bei Nacht. " * 8


@pytest.mark.parametrize("tag", TEXTS)
def test_a_text_has_the_function_words_of_its_own_language_only(tag):
    assert [one for one in TEXTS if has_function_words(one, TEXTS[tag])] == [tag]


@pytest.mark.parametrize("tag", NEIGHBOURS)
def test_a_neighbouring_language_is_not_mistaken_for_one_of_these(tag):
    assert [one for one in TEXTS if has_function_words(one, NEIGHBOURS[tag])] == []


def test_a_notice_in_another_language_does_not_make_it_the_language_of_the_page():
    notice = "This site uses cookies that are kept for a year by the owner of the site, and which you can refuse."
    assert has_function_words("en", notice)
    assert not has_function_words("en", notice + GERMAN)
    assert language_of("en", GERMAN + notice) == "de"


def test_a_list_of_names_has_no_function_words():
    assert not has_function_words("en", "Ada Grace Edsger Barbara Donald Alan Margaret Tony " * 10)
    assert not has_function_words("en", "the the the the " * 10)
    assert not has_function_words("en", "")
