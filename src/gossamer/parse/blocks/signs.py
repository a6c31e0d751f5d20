"""Words of class names and of short texts that say what a block is for.

Each group of words is one bit. What a group means for the importance of a block is learned (`weights.json`); only which
words belong together is written here.
"""

import re
from functools import lru_cache


def _bits(groups: dict[str, str]) -> dict[str, int]:
    """From each word to the bits of its groups."""
    found: dict[str, int] = {}
    for at, words in enumerate(groups.values()):
        for word in words.split():
            found[word] = found.get(word, 0) | 1 << at
    return found


_NAMES = {
    "menu": "nav menu navigation navbar breadcrumb breadcrumbs pagination pager pages tabs tab dropdown toc crumb "
    "crumbs submenu topbar navi menue",
    "footer": "footer foot copyright impressum legal colophon bottom",
    "header": "header masthead head topnav top branding",
    "side": "sidebar aside rail widget widgets secondary complementary marginal side right sidebars",
    "main": "main primary maincontent",
    "article": "article story post entry artikel beitrag hentry blogpost articles",
    "text": "body content text copy richtext prose inhalt",
    "comment": "comment comments disqus respond reply replies kommentar kommentare commentlist discussion forum "
    "commentaires",
    "share": "share sharing social facebook twitter follow addthis sharedaddy whatsapp linkedin pinterest sociable",
    "related": "related recommended recommendation recommendations more similar popular trending also latest readmore "
    "mehr verwandte outbrain taboola recent next prev previous featured most suggestions",
    "teaser": "teaser teasers carousel slider promo promoted card cards listing tile headlines feed",
    "advertisement": "ad ads advert advertisement sponsor sponsored anzeige werbung dfp banner promotion affiliate "
    "shop product",
    "about": "meta byline author date published tags tag category categories dateline posted timestamp bio authors "
    "autor datum kicker taglist keywords metadata time details info",
    "sign-up": "newsletter subscribe subscription signup login register modal popup overlay cookie cookies consent "
    "gdpr paywall optin mailing alert notice donate download",
    "form": "form search input fieldset label",
    "caption": "caption figcaption figure image photo img picture gallery media credit credits legend bild foto",
    "video": "video player embed audio podcast",
    "quote": "quote blockquote pullquote",
    "list": "list item items li ul ol",
    "cell": "td th",
    "heading": "title headline heading titel subtitle h1 h2 h3 h4 h5 h6",
    "summary": "summary lead intro dek standfirst excerpt abstract deck subheadline description vorspann chapo subhead",
    "unseen": "sr screenreader visuallyhidden offscreen noprint print invisible accessibility skip hidden",
    "definitions": "dl dd dt",
    "code": "pre code",
    "details": "details dialog",
    "footnote": "footnote footnotes references reference note notes sources source",
}
"""Words of classes, ids and roles, and tags."""
_CUES = {
    "share": "share teilen partager condividi compartir compartilhar tweet facebook twitter whatsapp pinterest "
    "linkedin instagram youtube telegram reddit поделиться udostępnij delen dela",
    "letter": "newsletter newsletters subscribe subscriber subscribers abonnieren abonnement abonnez abonner abo "
    "inscrivez suscríbete iscriviti assine inbox alerts подписаться подпишитесь",
    "follow": "follow folgen suivez seguici síguenos siga like join",
    "related": "related similar ähnliche verwandte recommended recommends empfehlungen lesen leggi lire lea leia anche "
    "auch aussi também también trending popular beliebt meistgelesen читайте также",
    "more": "more mehr weiter weiterlesen continue suite lire read voir ver view see alle all",
    "comment": "comment comments kommentar kommentare commentaires commentaire comentarios comentários commenti reply "
    "antworten répondre комментарии комментарий",
    "photo": "photo photos foto fotos image images bild bilder getty reuters shutterstock credit courtesy caption "
    "copyright picture pictured afp dpa imago flickr photograph",
    "legal": "copyright rights reserved rechte vorbehalten réservés reservados riservati terms privacy policy "
    "impressum datenschutz agb cookies cookie",
    "date": "january february march april may june july august september october november december jan feb mar apr jun "
    "jul aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember januari janvier février mars "
    "avril juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto "
    "septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
    "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag "
    "sonntag am pm uhr ago est gmt",
    "posted": "published updated posted veröffentlicht aktualisiert publié publicado pubblicato stand erstellt min "
    "minutes minute lesezeit views modified mis à jour",
    "author": "by von par por di author autor auteur autore redaktion editor text автор",
    "tags": "tags tag kategorie kategorien category categories schlagwörter schlagworte filed topics themen under "
    "catégorie categoría categorias mots-clés",
    "advertisement": "advertisement anzeige werbung sponsored publicité publicidad publicidade pubblicità ad реклама",
    "account": "login log sign register registrieren anmelden einloggen connexion password passwort account konto "
    "username entrar войти",
    "way": "home startseite back zurück next previous weiter nächster vorheriger top oben search suche menu",
    "mail": "email e-mail mail print drucken imprimer stampa imprimir pdf kontakt contact telefon tel fax",
    "click": "click klicken hier here cliquez clique clic haga download herunterladen télécharger app",
    "you": "your you ihre ihr sie vous votre sua seu du deine",
    "news": "news nachrichten latest neueste aktuelle aktuell breaking neues actualités noticias notícias новости",
}
"""Words of short texts, in the languages that most pages of the training data have."""
NAMES = _bits(_NAMES)
CUES = _bits(_CUES)
_CONTENT = ("main", "article", "text", "caption", "quote", "list", "cell", "heading", "summary", "definitions", "code")
_NOISE = sum([1 << at for at, name in enumerate(_NAMES) if name not in (*_CONTENT, "details", "footnote")])
_CUE_WORDS = frozenset(CUES)
_ATTRIBUTE = re.compile(r'(?:class|id|role|itemprop)="([^"]*)"')
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


@lru_cache(maxsize=4096)
def names_in(attributes: str) -> int:
    """The groups of the words in an element's class, id, role and itemprop. `attributes`: as written in its tag."""
    found = 0
    for name in " ".join(_ATTRIBUTE.findall(attributes)).split():
        found |= _names_of(name)
    return found


@lru_cache(maxsize=8192)
def _names_of(name: str) -> int:
    found = 0
    for word in _WORD.findall(name):
        found |= NAMES.get(word, 0) or NAMES.get(word.lower(), 0)
    return found


def noise_in(name: str) -> int:
    """The groups of the words in a class or id that are signs of something other than content."""
    found = 0
    for one in name.split():
        found |= _names_of(one)
    return found & _NOISE


def cues_in(words: set[str]) -> int:
    found = 0
    for word in words & _CUE_WORDS:
        found |= CUES[word]
    return found
