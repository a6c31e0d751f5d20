"""Word lists of the demonstration web: names of people, places and things, and English prose."""


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
examined filled followed formed gathered guarded improved inspired joined kept lit measured moved named opened
ordered painted planned praised preserved protected published reached rebuilt recorded remembered repaired
replaced restored sheltered shaped sold studied surrounded surveyed taught visited welcomed
""")
ADVERBS = _list("""
again almost carefully early eventually gradually hardly later mostly often patiently quietly rarely slowly soon
together twice usually
""")

ENGLISH = (
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
