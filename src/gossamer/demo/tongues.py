"""The languages of the demonstration web: words and sentence patterns.

Every slot may be filled with any word of its list, so lists hold plural nouns and adjectives with one plural form.
"""

from typing import NamedTuple

from gossamer.demo import words


class Tongue(NamedTuple):
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    verbs: tuple[str, ...]
    adverbs: tuple[str, ...]
    patterns: tuple[str, ...]
    between: str = " "
    """What stands between two sentences."""


def _list(given: str) -> tuple[str, ...]:
    return tuple(given.split())


GERMAN = Tongue(
    _list("""
    alten breiten dunklen engen fernen frühen großen hellen hohen jungen kleinen langen leisen neuen nördlichen
    offenen ruhigen schmalen seltenen späten steilen stillen tiefen warmen weiten wilden zahlreichen bekannten
    vergessenen
    """),
    _list("""
    Bäume Berge Bilder Boote Briefe Brücken Bücher Dörfer Felder Fenster Flüsse Freunde Gärten Gäste Gebäude
    Geschichten Häfen Häuser Hügel Inseln Karten Kinder Lieder Mauern Märkte Mühlen Nachbarn Reisenden
    Sammlungen Schriften Städte Straßen Stürme Täler Türme Uhren Wälder Wege Werkstätten Wiesen Zeichnungen Züge
    """),
    _list("""
    beschreiben besuchen bewahren bewundern erinnern erreichen finden füllen kennen malen messen öffnen ordnen
    planen prägen retten sammeln schützen suchen tragen verändern verbinden vergleichen zeichnen zeigen
    """),
    _list("""
    bald dennoch einst endlich gern häufig heute kaum langsam meist oft selten sorgfältig später wieder
    """),
    (
        "Die {adj} {noun} von {town} {verb} {adv} die {adj2} {noun2}.",
        "Seit {year} {verb} {number} {adj} {noun} die {noun2} am Ufer.",
        "{person} schrieb über die {adj} {noun}, und die {noun2} blieben lange unbekannt.",
        "Zwischen {town} und {town2} {verb} die {noun} {adv} alle {adj} {noun2}.",
        "Ohne die {noun} wären die {adj} {noun2} längst verschwunden, meinte {person}.",
        "Wer die {adj} {noun} sieht, versteht auch die {noun2} von {town}.",
        "Im Jahr {year} kamen die {adj} {noun} nach {town}, wo die {noun2} sie erwarteten.",
        "Manche {noun} {verb} die {noun2}, andere {adv} nur die {adj} {noun}.",
    ),
)
FRENCH = Tongue(
    _list("""
    calmes célèbres faibles fragiles immenses jeunes larges libres modernes modestes nobles pauvres pratiques
    rapides rares riches rouges rustiques sauvages simples solides sombres tranquilles utiles vastes
    """),
    _list("""
    arbres ateliers bateaux bibliothèques cartes champs chemins collines enfants façades fenêtres fleuves forêts
    fêtes gares histoires horloges îles jardins lettres livres lumières maisons marchés montagnes moulins murs
    musiques navires paysages peintures places ponts ports recettes rivières routes rues saisons tableaux tours
    vallées villages voyages
    """),
    _list("""
    accompagnent admirent attendent changent conservent décrivent découvrent entourent gardent inspirent
    mesurent montrent ouvrent partagent peignent protègent racontent rappellent relient remplissent retrouvent
    suivent traversent
    """),
    _list("""
    aujourd'hui autrefois bientôt déjà doucement encore enfin ensemble lentement longtemps parfois rarement
    souvent toujours
    """),
    (
        "Les {noun} {adj} de {town} {verb} {adv} les {noun2} du rivage.",
        "Depuis {year}, {number} {noun} {verb} les {noun2} {adj} de la région.",
        "{person} a décrit les {noun}, mais les {noun2} {adj} restent peu connus du public.",
        "Entre {town} et {town2}, les {noun} {verb} les {noun2} que personne n'avait vus.",
        "Sans les {noun}, disait {person}, les {noun2} de {town} seraient oubliés.",
        "En {year}, les {noun} {adj} sont arrivés à {town} avec leurs {noun2}.",
        "Certains {noun} {verb} {adv} les {noun2}, d'autres restent {adj}.",
        "On dit que les {noun} de {town} {verb} les {noun2} {adj2} et {adj}.",
    ),
)
SPANISH = Tongue(
    _list("""
    alegres amables brillantes célebres comunes débiles elegantes fuertes grandes importantes jóvenes locales
    naturales nobles notables pobres populares recientes rurales salvajes simples suaves tristes útiles verdes
    """),
    _list("""
    árboles barcos bosques caminos campos canciones cartas casas ciudades colinas cuadros familias fiestas
    fuentes historias huertos islas jardines libros lugares luces mapas mares mercados molinos montañas muelles
    muros museos navegantes noticias paisajes palabras patios plazas pueblos puentes puertas relojes ríos
    talleres torres valles vecinos ventanas viajes
    """),
    _list("""
    abren acompañan admiran atraviesan cambian conocen conservan construyen cuentan cuidan descubren describen
    encuentran esperan guardan inspiran llenan miden muestran pintan protegen recuerdan reúnen rodean siguen
    unen visitan
    """),
    _list("""
    ahora antes aún casi despacio después hoy juntos lentamente luego pronto quizás siempre todavía
    """),
    (
        "Los {noun} {adj} de {town} {verb} {adv} los {noun2} de la costa.",
        "Desde {year}, {number} {noun} {verb} los {noun2} {adj} de la región.",
        "{person} escribió sobre los {noun}, aunque los {noun2} {adj} eran más conocidos.",
        "Entre {town} y {town2} los {noun} {verb} los {noun2} que nadie había visto.",
        "Sin los {noun}, decía {person}, los {noun2} de {town} no existirían.",
        "En {year} llegaron a {town} los {noun} {adj} con sus {noun2}.",
        "Algunos {noun} {verb} {adv} los {noun2}; otros siguen siendo {adj}.",
        "Se dice que los {noun} de {town} {verb} los {noun2} {adj} y {adj2}.",
    ),
)
JAPANESE = Tongue(
    _list("古い 静かな 小さな 大きな 美しい 新しい 珍しい 細い 深い 明るい 遠い 若い 豊かな 有名な 素朴な 暖かい"),
    _list("""
    港 橋 町 庭 山 川 森 島 塔 道 村 谷 家 窓 絵 地図 手紙 書物 時計 市場 工房 物語 音楽 祭り 季節
    旅人 職人 伝統 記録 建物 畑 船 海 博物館 図書館 駅
    """),
    _list("見守った 描いた 集めた 変えた 残した 伝えた 支えた 結んだ 測った 守った 訪れた 記した 開いた 直した 育てた"),
    _list("やがて しばしば 静かに 少しずつ 再び 丁寧に 長い間 ときどき"),
    (
        "{town}の{adj}{noun}は、{year}年に{adj2}{noun2}を{verb}。",
        "{person}は{adv}{adj}{noun}と{noun2}を{verb}。",
        "{year}年以来、{number}の{noun}が{adj}{noun2}を{verb}と言われている。",
        "{town}と{town2}の間にある{noun}は、{adj}{noun2}として知られている。",
        "{adj}{noun}がなければ、{noun2}は忘れられていただろう。",
        "人々は{adv}{noun}を訪れ、{adj}{noun2}について語り合った。",
        "この{noun}は{adj}{noun2}を{verb}ことで知られている。",
    ),
    "",
)
ENGLISH = Tongue(words.ADJECTIVES, words.NOUNS, words.VERBS, words.ADVERBS, words.ENGLISH)
TONGUES = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH, "ja": JAPANESE}
