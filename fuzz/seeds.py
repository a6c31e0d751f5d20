"""The fuzzer's seeds: a few small pages for each syntax, and the words that have a meaning in it."""

from pathlib import Path

LARGEST_SEED = 6_000
"""Bytes; a long seed makes every run slow."""
MOST_SEEDS = 400

SUITES = {
    "rdfa": ("rdfa/test-cases/rdfa1.1/html5/*.html", "rdfa/test-cases/rdfa1.1/html5-invalid/*.html"),
    "json-ld": ("jsonld-html/**/*.html", "jsonld-html/**/*-in.jsonld"),
    "microdata": ("microdata/**/*.html",),
    "microformats": ("microformats2/**/*.html",),
    "page": ("html/tree-construction/*.dat",),
}
"""More pages, from public test suites if they are installed."""

PAGES = {
    "rdfa": (
        """<html prefix="a: http://a.example/#" lang=en><body vocab="http://schema.org/" typeof=Person resource="#me">
        <b property="name" content=x>y</b><time property=born datetime="2001-02-03">z</time>
        <a rel="a:b" href=c>d</a>""",
        """<div about="[a:b]" xmlns:a="http://a/" rel="a:c" rev="a:d" inlist><p resource="_:x" typeof="a:T"></p>""",
        """<p property="dc:a" datatype="rdf:XMLLiteral">x<b xml:lang=fr>y</b></p>
        <p property=dc:b datatype=rdf:HTML>z""",
        """<p typeof="rdfa:Pattern" resource="#p"><i property="dc:t">q</i></p>
        <p about="#s"><a property="rdfa:copy" href="#p">""",
        """<div role="navigation banner" id=n></div><p about rel="dc:x" inlist property="dc:y" datatype="xsd:date">1""",
    ),
    "json-ld": (
        """{"@context":"https://schema.org","@type":"Person","name":"a","knows":[{"@id":"#b"},{"@list":[1,2.5,true]}]}""",
        """{"@context":{"@vocab":"http://v/","t":{"@id":"u","@type":"@id","@container":"@set"}},
        "t":["x y"],"@graph":[{}]}""",
        """[{"@id":"_:a","http://p/q":{"@value":"x","@language":"en"},"@reverse":{"http://r/":{"@id":"_:a"}}},]//c""",
        """{"@context":[null,{"@version":1.1,"@base":"x/","@import":"y"}],"@included":[{"@type":"http://t"}]}""",
    ),
    "microdata": (
        """<div itemscope itemtype="http://schema.org/Person" itemid="#me" itemref="x y"><b itemprop="name url">a</b>
        <a itemprop=link href=b>c</a><meta itemprop=m content=d><time itemprop=t datetime=2001>e</time></div>
        <div id=x itemprop=knows itemscope itemref=x><data itemprop=n value=1></div>""",
        """<div itemscope itemref="a"><p id=a itemprop="http://p/q a:b" itemscope itemref=a></div><p itemprop=z>""",
    ),
    "microformats": (
        """<div class="h-card"><a class="p-name u-url" href=a>b</a><img class=u-photo src=c alt=d>
        <p class="h-adr p-adr"><i class=p-locality>e</i></p><time class="dt-bday" datetime=2001-02-03>f</time>
        <div class=e-note>g<b>h</b></div>""",
        """<div class="vcard"><span class="fn n"><i class=given-name>a</i></span>
        <a class="url" rel="me tag" href=b>c</a></div>""",
        """<div class="hentry"><abbr class="published" title=2001>a</abbr>
        <span class="value"><i class=value-title title=b>""",
        """<a class="h-feed" href=x><a class=h-entry><object class=u-x data=y></object>
        <p class="dt-start"><i class=value>1:2pm""",
    ),
    "opengraph": (
        """<html prefix="og: http://ogp.me/ns#"><meta property="og:image" content=/a.png>
        <meta property="og:image:width" content=1><meta property="article:tag" content=b>
        <meta name="og:title" content=c><meta property=fb:app_id content=1>""",
    ),
    "twitter": (
        """<meta name="twitter:card" content=summary>
        <meta property="twitter:image:src" content=a><meta name=twitter:>""",
    ),
    "dublin-core": (
        """<link rel="schema.DC" href="http://purl.org/dc/elements/1.1/">
        <meta name="DC.title" lang=de content=a scheme=URI><link rel="DC.relation" href=b>
        <meta name="dcterms.created" content=2001-02-03><meta name="DC.Date.modified">""",
    ),
}

WORDS = {
    "rdfa": """about content datatype datetime href id inlist lang prefix property rel resource rev role src typeof
        vocab xml:lang xmlns:a= _: [_:] [a:b] a:b dc: schema: rdfa:copy rdfa:Pattern rdf:HTML rdf:XMLLiteral xsd:date
        <base <time <meta <link <head> <body <html <template> http://schema.org/""",
    "json-ld": """@context @id @type @value @list @set @graph @reverse @language @index @vocab @base @container @nest
        @none @json @direction @import @included @prefix @propagate @protected @version https://schema.org "@id":" {}
        [] null true 1e5 \\u0000 \\ud800 // /* <!-- NaN""",
    "microdata": """itemscope itemtype= itemprop= itemid= itemref= id= content= href= src= datetime= value= <data
        <meta <time <meter <object <link http://schema.org/ http://data-vocabulary.org/""",
    "microformats": """class= h-card h-entry h-event h-adr h-geo h-feed p-name u-url u-photo dt-start e-content vcard
        hentry vevent hreview value value-title rel= title= alt= datetime= <abbr <time <area <object <template>
        <base""",
    "opengraph": "property= content= name= og: og:image og:image:width article: fb: product: prefix= <meta",
    "twitter": "name= property= content= twitter: twitter:card twitter:image:src <meta",
    "dublin-core": "name= content= scheme= lang= rel= href= DC. dcterms. schema.DC schema.dcterms <meta <link",
}


def words_of(name: str) -> list[str]:
    return (WORDS[name] if name in WORDS else " ".join(WORDS.values())).split()


def write_seeds(name: str, into: Path, suites: Path) -> int:
    """Returns how many were written."""
    into.mkdir(parents=True, exist_ok=True)
    mark = b"" if name == "page" else b" "
    pages = PAGES[name] if name in PAGES else [page for several in PAGES.values() for page in several]
    seeds = [mark + page.encode() for page in pages]
    for pattern in SUITES.get(name, ()):
        for file in sorted(suites.glob(pattern)):
            body = file.read_bytes()
            if len(body) <= LARGEST_SEED and len(seeds) < MOST_SEEDS:
                seeds.append((b"\xff" if name == "json-ld" and file.suffix == ".html" else mark) + body)
    for number, seed in enumerate(seeds):
        (into / f"seed-{number:03}").write_bytes(seed)
    return len(seeds)
