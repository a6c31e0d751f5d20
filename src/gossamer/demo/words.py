"""Words, names and sentences in five languages, drawn by seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

from gossamer.base.environment import seeded
from gossamer.values.url import id_of


def _list(words: str) -> tuple[str, ...]:
    return tuple(word.strip().replace("_", " ") for word in words.split())


FIRST_NAMES = _list("""
Ada Alma Amir Ana Anton Ayumi Beatrix Bruno Carla Cedric Chiara Clara Dario Delia Edith Elias Emil Enzo Esther
Farah Felix Fiona Greta Hana Hector Hugo Ida Ines Ingrid Iris Ivan Jasper Jun Kaito Karim Lena Leo Lotte Lucia
Magda Malik Mara Marius Matilda Mei Mira Nadia Nils Noor Olga Oscar Otto Paula Petra Quentin Rafael Rosa Ruben
Sana Selma Silvio Sofia Tariq Thea Tomas Ursula Vera Viktor Wanda Willem Yara Yusuf Zelda Zora
""")
LAST_NAMES = _list("""
Abernathy Albrecht Almeida Andersen Aoki Baptiste Bellamy Bergström Blackwood Borges Brandt Cardoso Castellan
Close Cormier Dahl Delacroix Demir Dubois Eklund Espinoza Farrow Ferrante Fitzgerald Fontaine Fujimoto Galanis
Gruber Haddad Halloran Hartmann Hayashi Ibsen Jansen Kaplan Keller Kimura Kovacs Lagrange Larsen Lindqvist
Lombardi Mahler Marchetti Mbeki Mercer Montoya Moreau Nakamura Novak Okafor Olsen Ortega Pavlova Petrov Quiroga
Rasmussen Renard Rinaldi Rosenthal Saito Santos Schreiber Silva Sorensen Tanaka Thorne Ueda Valdez Verhoeven
Vogel Wexler Whitlock Winter Yamada Zhang Zimmer
""")
TOWNS = _list("""
Aldermere Ashcombe Bellhaven Birchwick Brackenford Calder_Bay Copperhill Crowmouth Dunmarsh Eastmoor Elderfield
Fairwater Fernley Glasswick Goldenridge Greyport Hallowdale Harrowgate Ironbridge_Cross Juniper_Falls
Kestrel_Point Larkspur Limewood Lowbridge Maplethorpe Merrowby Mistfield Northwater Oakhurst Old_Quay Pinecrest
Port_Amber Quillford Ravenhythe Redcliff Saltmarsh Silverlake Stonebeck Swanholt Thistledown Umberleigh
Vale_Cross Westhollow Whitesand Willowmere Windhill Wrenfield Yarrow_Bridge
""")
COUNTRIES = _list("""
Norway Portugal Japan Ghana Chile Austria Iceland Morocco Vietnam Canada Estonia Peru Jordan Ireland Slovenia
Kenya
""")
JOBS = _list("""
painter sculptor botanist cartographer violinist architect astronomer baker historian photographer ceramist
novelist engineer librarian composer geologist journalist translator chef conservator gardener mathematician
printmaker sailor teacher weaver
""")
MATERIALS = _list("""
oil_on_canvas watercolour charcoal bronze limestone glazed_stoneware silk walnut etched_copper tempera_on_panel
blown_glass woven_wool cast_iron ink_on_paper silver_gelatin_print carved_ivory_nut enamel birch_bark
""")
MOTIFS = _list("""
Harbour Orchard Lighthouse Heron Ferryman Market Winter_Garden Bell_Tower Mirror Cartographer Fox Dancers Quarry
Comet Regatta Loom Apple_Seller Storm River_Mouth Night_Train Beekeeper Chess_Players Old_Bridge Tide
Observatory Glassblower Salt_Road Owl Carousel
""")
COLOURS = _list("""
Amber Azure Blue Copper Crimson Emerald Golden Green Grey Indigo Ivory Ochre Pale Red Scarlet Silver Violet
White
""")
DISHES = _list("""
soup stew tart risotto salad pie dumplings curry gratin omelette bread noodles pancakes casserole chowder
pudding cake flatbread fritters ragout
""")
INGREDIENTS = _list("""
leek potato mushroom pumpkin spinach fennel beetroot chestnut barley lentil tomato aubergine walnut apple pear
saffron rosemary thyme lemon garlic ginger goat_cheese smoked_trout chickpea celery cabbage apricot almond honey
buckwheat parsnip quince
""")
UNITS = _list("200_g_of 1_cup_of 2_spoons_of 3_pieces_of 150_ml_of half_a_pound_of a_handful_of 50_g_of")
GOODS = _list("""
lamp kettle rucksack chair notebook compass teapot blanket bicycle_bell desk_clock raincoat wallet fountain_pen
lantern chopping_board watering_can headphones jacket camera_strap paper_knife storage_box garden_hose
""")
BRANDS = _list("""
Nordvale Halcyon Brasswell Tern&Co Ottershaw Lumora Fieldmark Kestrel Quayside Perrin Oakline Vantor
""")
EVENTS = _list("""
Concert Lecture Workshop Regatta Book_Fair Night_Walk Film_Evening Market Chess_Open Poetry_Reading Harvest_Fair
Open_Studio Choir_Festival Star_Party Science_Slam Repair_Cafe
""")
HALLS = _list("""
Town_Hall Corn_Exchange Old_Mill Harbour_Stage Botanical_House Granary Music_Pavilion Riverside_Arena Guild_Hall
""")
TOPICS = _list("""
Tidal_mills Slate_roofs Migrating_cranes Rope_bridges Salt_trade Paper_making Glacial_lakes Clockwork Peat_bogs
Canal_locks Beehives Stained_glass Star_charts Wind_organs Terraced_fields Signal_towers Ferry_lines
Dry_stone_walls Letterpress Moss_gardens
""")
MEASURES = _list("""
air_quality rainfall bicycle_traffic tree_cover library_loans water_levels bus_punctuality noise school_places
energy_use land_use harbour_dues birth_counts street_lighting waste_collection
""")
COMMANDS = _list("""
install configure migrate query index export import cluster schedule monitor secure backup tune embed extend
""")

ADJECTIVES = _list("""
quiet narrow ancient bright careful distant early familiar gentle hidden honest large late local long modern
northern open ordinary patient plain proud quick rare recent rough rural sharp simple slow small southern steady
steep strange strong sudden tall thin useful warm wide wild wooden young remarkable unfinished celebrated
forgotten practical regional annual municipal seasonal
""")
NOUNS = _list("""
archives boats bridges buildings cellars children clocks collectors colours committees farmers ferries fields
forests founders gardens gates guests harbours hills houses instruments islands journeys kitchens lamps letters
libraries maps markets meadows melodies merchants mills mirrors mornings mountains neighbours orchards paintings
paths pupils questions rivers roofs sailors seasons shadows shelters songs stations stories storms streets
students tables teachers tools towers traditions travellers valleys villages visitors voices walls weavers
windows winters workshops writers catalogues measurements drawings reports exhibitions
""")
VERBS = _list("""
admired arranged borrowed built carried changed collected copied crossed described discovered divided drew
examined fill followed formed gathered guarded improved inspired joined kept lit measured moved named opened
ordered painted planned praised preserved protected published reached rebuilt recorded remembered repaired
replaced restored sheltered shaped sold studied surrounded surveyed taught visited welcomed
""")
ADVERBS = _list("""
again almost carefully early eventually gradually hardly later mostly often patiently quietly rarely slowly soon
together twice usually
""")

ENGLISH_PATTERNS = (
    "The {adj} {noun} of {town} {verb} the {adj2} {noun2} that {person} had {verb2} in {year}.",
    "In {year} the {noun} {adv} {verb} a number of {adj} {noun2} along the road to {town}.",
    "Most {noun} here are {adj}, and few of the {noun2} were ever {verb}.",
    "{person} {adv} {verb} the {noun}, although the {adj} {noun2} near {town} were better known.",
    "Between {town} and {town2} the {adj} {noun} {verb} what the {noun2} had left behind.",
    "It was {person} who first {verb} these {adj} {noun} and showed them to the {noun2} of {town}.",
    "Without the {noun} the {adj} {noun2} would have been {verb} long before {year}.",
    "Some say that the {noun} {verb} the {noun2}; others, among them {person}, say the opposite.",
    "The {noun} were {adv} {verb} by {adj} {noun2} who came from {town}.",
    "A second group of {noun}, {adj} and {adj2}, {verb} the {noun2} on the other side of the water.",
    "Since {year} there have been {number} {adj} {noun}, and every one of them {verb} the {noun2}.",
    "When the {adj} {noun} {verb} the {noun2}, nobody in {town} was surprised.",
    "What the {noun} {verb} in {year} can still be seen among the {adj} {noun2} of {town}.",
    "Of the {number} {noun} counted that year, only the {adj} ones {verb} the {noun2}.",
    "Visitors ask about the {adj} {noun} first, and about the {noun2} {adv}.",
    "{person} wrote that the {noun} of {town} \u201c{adv} {verb} the {adj} {noun2}\u201d.",
)


T = TypeVar("T")


class Draw:
    """A stream of choices; the same names give the same stream on every machine."""

    __slots__ = ("_next",)

    def __init__(self, *names: object) -> None:
        self._next = seeded(id_of(" ".join(map(str, names))) & (1 << 63) - 1).random

    def below(self, limit: int) -> int:
        """REQUIRES: limit >= 1."""
        return int(self._next() * limit)

    def between(self, least: int, most: int) -> int:
        return least + int(self._next() * (most - least + 1))

    def one(self, of: Sequence[T]) -> T:
        return of[int(self._next() * len(of))]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """`count` distinct places of `of` (all of them when it is shorter), in the order drawn."""
        places: dict[int, None] = {}
        wanted = min(count, len(of))
        while len(places) < wanted:
            places[int(self._next() * len(of))] = None
        return [of[place] for place in places]

    def happens(self, share: float) -> bool:
        return self._next() < share


class Tongue(NamedTuple):
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    verbs: tuple[str, ...]
    adverbs: tuple[str, ...]
    patterns: tuple[str, ...]
    between: str = " "
    """What stands between two sentences."""


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
ENGLISH = Tongue(ADJECTIVES, NOUNS, VERBS, ADVERBS, ENGLISH_PATTERNS)
GERMAN_NOUNS = GERMAN.nouns
TONGUES = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH, "ja": JAPANESE}


POOL = 2_999
"""A prime: whatever the stride, a walk through the pool meets no sentence twice."""
_ONSETS = ("b", "br", "c", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "", "n", "r", "l", "s", "nd", "rk", "m", "th")


@lru_cache(maxsize=64)
def pool(seed: int, language: str) -> tuple[str, ...]:
    """The sentences that pages in this language are made of. REQUIRES: a language of `TONGUES`."""
    draw = Draw(seed, "sentences", language)
    return tuple(sentence(draw, TONGUES[language]) for _ in range(POOL))


def sentence(draw: Draw, tongue: Tongue) -> str:
    return with_capital(draw.one(tongue.patterns).format_map(_Slots(draw, tongue)))


def with_capital(text: str) -> str:
    """With a capital letter."""
    return text[0].upper() + text[1:]


def fill(draw: Draw, pattern: str) -> str:
    """A pattern with its slots fill, in order: `{TOWNS}` takes one of that list (`{towns}`: in lower case), `{3-9}` a
    number, `{this|that}` one of these, `{person}` and `{coined}` a new name."""
    return pattern.format_map(_Slots(draw, ENGLISH))


def paragraph(draw: Draw, seed: int, language: str, least: int = 3, most: int = 8) -> str:
    sentences, at, stride = pool(seed, language), draw.below(POOL), 1 + draw.below(POOL - 1)
    chosen = [sentences[(at + step * stride) % POOL] for step in range(draw.between(least, most))]
    return TONGUES[language].between.join(chosen)


def fresh(draw: Draw, language: str, least: int = 3, most: int = 6) -> str:
    """A paragraph of sentences that stand nowhere else. Slower than `paragraph`, which takes them from the pool."""
    tongue = TONGUES[language]
    return tongue.between.join([sentence(draw, tongue) for _ in range(draw.between(least, most))])


def coined(draw: Draw) -> str:
    """A word nobody has used before: the web's vocabulary has a long tail, and so has this one."""
    parts = [draw.one(_ONSETS) + draw.one(_VOWELS) + draw.one(_CODAS) for _ in range(draw.between(2, 3))]
    return "".join(parts).capitalize()


def person_name(draw: Draw) -> str:
    return f"{draw.one(FIRST_NAMES)} {draw.one(LAST_NAMES)}"


@dataclass(frozen=True, slots=True)
class _Slots:
    draw: Draw
    tongue: Tongue

    def __getitem__(self, slot: str) -> str | int:
        draw, tongue = self.draw, self.tongue
        match slot.rstrip("2"):
            case "adj":
                return draw.one(tongue.adjectives)
            case "noun":
                return draw.one(tongue.nouns)
            case "verb":
                return draw.one(tongue.verbs)
            case "adv":
                return draw.one(tongue.adverbs)
            case "town":
                return draw.one(TOWNS) if draw.happens(0.7) else coined(draw)
            case "person":
                return person_name(draw)
            case "year":
                return draw.between(1650, 2024)
            case "number":
                return draw.between(3, 400)
            case "coined":
                return coined(draw)
            case "two ingredients":
                return " and ".join(draw.some(INGREDIENTS, 2))
        if "|" in slot:
            return draw.one(slot.split("|"))
        if "-" in slot:
            least, most = slot.split("-")
            return draw.between(int(least), int(most))
        chosen: str = draw.one(globals()[slot.upper()])
        return chosen if slot.isupper() else chosen.lower()
