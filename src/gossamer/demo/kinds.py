"""The twelve kinds of site, as a table."""

from gossamer.demo import culture, press, trade
from gossamer.demo.sites import Genre

EN, DE, FR, ES, JA = "en", "de", "fr", "es", "ja"

KINDS = (
    Genre("museum", "Harbour Museum", "Works of art from nine centuries", (EN,), "/objects/{slug}-{n}",
         "/objects/page/{k}", culture.artwork_name, culture.artwork),
    Genre("people", "Who Was There", "Makers, players, writers and the rest of us", (EN,), "/people/{n}/{slug}",
         "/people/all/{k}", culture.who, culture.person),
    Genre("recipes", "The Long Table", "What to cook tonight", (EN, EN, FR), "/recipe/{slug}.{n}.html",
         "/recipes/{k}.html", trade.recipe_name, trade.recipe, coding="gzip"),
    Genre("events", "Out Tonight", "Concerts, lectures and fairs", (EN,), "/event/{n}-{slug}",
         "/events?page={k}", trade.event_name, trade.event),
    Genre("library", "Stadtbibliothek am Kai", "Bücher, Karten, Zeitschriften", (DE, DE, DE, EN), "/titel/{n}/{slug}",
         "/katalog/{k}", culture.book_name, culture.book),
    Genre("shop", "Good Things", "Made to be kept", (EN,), "/p/{slug}?id={n}",
         "/shop?list={k}", trade.product_name, trade.product),
    Genre("blog", "Carnets de route", "Notes et promenades", (FR,), "/billets/{slug}-{n}/",
         "/archives/{k}/", press.post_name, press.post),
    Genre("news", "El Correo del Puerto", "Noticias de hoy", (ES,), "/noticias/{n}/{slug}.html",
         "/portada/{k}", press.story_name, press.story, coding="gzip"),
    Genre("encyclopedia", "Open Compendium", "What is known, and by whom", (EN, EN, EN, JA), "/wiki/{slug}_{n}",
         "/wiki/Index:{k}", culture.topic_name, culture.topic),
    Genre("docs", "Handbooks", "Guides and references", (EN,), "/docs/{n}/{slug}.html",
         "/docs/contents-{k}.html", press.chapter_name, press.chapter, coding="br"),
    Genre("forum", "The Workbench Forum", "Ask, answer, repair", (EN,), "/thread.php?t={n}",
         "/forum.php?page={k}", press.thread_name, press.thread, is_chunked=True),
    Genre("opendata", "City Open Data", "Counted, published, free to use", (EN,), "/dataset/{slug}-{n}",
         "/datasets/{k}", trade.dataset_name, trade.dataset),
)  # fmt: skip
