"""No query makes the engine connect: anything it would read as SERVICE is refused, however the tokens adjoin.

The engine itself shows which texts it reads that way. It refuses to connect to port 9 with an error that names the
port: such an error means that it was about to connect, and nothing leaves the process.
"""

import contextlib
import itertools
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, QueryBoolean, Store

from gossamer.base.errors import QueryRefused
from gossamer.views.facts.query_text import LONGEST_QUERY, inspect, refuse_remote, tokens_of

AWAY = "http://127.0.0.1:9/"
PROLOGUE = f"PREFIX ex: <http://e/> PREFIX : <{AWAY}> PREFIX service: <{AWAY}> BASE <http://b/> "
SUBJECT, PREDICATE = NamedNode("http://e/s"), NamedNode("http://e/p")
XSD = "http://www.w3.org/2001/XMLSchema#"


def store() -> Store:
    """Has every value that the patterns below ask for, so that the engine gets as far as SERVICE."""
    facts = Store()
    for number in ("1e5", "1.e5", ".5e5"):
        facts.add(Quad(SUBJECT, PREDICATE, Literal(number, datatype=NamedNode(XSD + "double"))))
    values = [Literal(5), Literal("x"), Literal("x", language="en"), Literal(True), Literal(False)]
    values += [Literal("0.5", datatype=NamedNode(XSD + "decimal")), Literal("5", datatype=NamedNode("http://e/t"))]
    values += [Literal(""), *(NamedNode(f"http://e/{name}") for name in ("a", "a.b", "a.b.c", "a-", "", "a%41"))]
    for value in values:
        facts.add(Quad(SUBJECT, PREDICATE, value))
    return facts


STORE = store()


def connects(query: str) -> bool:
    """Whether the engine tries to query another server for this query."""
    try:
        answer = STORE.query(query)
        if not isinstance(answer, QueryBoolean):
            list(answer)
    except SyntaxError:
        return False
    except (OSError, RuntimeError) as error:  # RuntimeError: a variable that is not bound to a server
        return "port 9 is not allowed" in str(error) or "service name is unbound" in str(error)
    return False


def is_refused(query: str) -> bool:
    try:
        inspect(query)
    except QueryRefused:
        return True
    return False


def parses(query: str) -> bool:
    try:
        STORE.query(query)
    except SyntaxError:
        return False
    return True


HEADS = [
    *(f"ex:s ex:p {value}" for value in (
        "1e5", "1.e5", ".5e5", "5", "5.", "0.5", ".5", "+5", "- 5", "true", "false", "'x'", '"x"', "'''x'''", '"""x"""',
        "'x'@en", "'x'@en-", "'x'@en--ltr", "'5'^^ex:t", "'5'^^<http://e/t>", "?v", "$v", "?v\u00b7", "ex:a", "ex:a.",
        "ex:a.b", "ex:a.b.", "ex:a.b.c", "ex:a.b.c.", "ex:a\\-", "ex:a%41", "ex:", ":", "<http://e/a>", "<a>", "_:b",
        "_:b.", "_:b.c.", "[]", "()", "?v~", "?v~ex:a", "?v{|ex:p ?w|}", "<<?a ?b ?c>>", "<<(?a ?b ?c)>>", "?v;", "?v.",
        "a", "ex:p?", "true,false", "(1 2)", "[ex:p 5]",
    )),
    *(f"{{}}{tail}" for tail in ("FILTER(1<2)", "FILTER(1<'x>')", "FILTER(1<2#>'''\n)", "FILTER(1<<http://e/#>\n)")),
    "", "{}", "OPTIONAL{}", "MINUS{ex:q ex:q ex:q}", "GRAPH ex:g{}UNION", "BIND(1 AS ?n)", "VALUES ?x{1}",
    "VALUES ?x{UNDEF}", "VALUES(?x){(1)(UNDEF)}", "FILTER ex:f(1)", "FILTER EXISTS{}",
    "FILTER NOT EXISTS{ex:q ex:q ex:q}",
    "VALUES ?x{'''a'#\\q\n}", "VALUES ?x{'''a'#\\uD800\n}", "VALUES ?x{\"\"\"a\"#\\q\n}", "VALUES ?x{''''a'}",
    "?s ?p (1 <urn:'x>).", "?s a(1 <urn:'x>).", "?s truea(1 <urn:'x>).", "FILTER(COUNT(DISTINCT5<'x>'))",
    "FILTER(1 IN(1)&&true<'x>')", "FILTER(1<(1)&&2>1&&1<'x>')", "FILTER(STR('a')<'x>')", "FILTER ex:f(1<'x>')",
    "{SELECT(COUNT(DISTINCTtrue<'x>')AS ?n){}}", "{SELECT(1<'x>'AS ?n){}}", "{SELECT*{}GROUP BY ex:f(1<'x>')}",
]  # fmt: skip
GLUE = ["", " ", "\n", "#SERVICE\n", "#\r", ".", " .", ";", "\\u0020", "\u00a0", "'", "''", "-", "_", "\t#'''\n\r"]
KEYWORDS = ["SERVICE", "service", "sErViCe", "SERVICE SILENT", "SERVICESILENT", "SERVICE#\nSILENT", "\\u0053ERVICE"]
NAMES = [f"<{AWAY}>", " ?v", ":x", " :", f"#<\n<{AWAY}\\u0061>", " service:x", "$v"]
TAILS = ["{?a ?b ?c}", "{?a ?b ?c}#'''\n", "{?a ?b ?c}FILTER(''='')", "{?a ?b ?c}#>"]


def query_of(*parts: str) -> str:
    return f"{PROLOGUE}SELECT*WHERE{{BIND(<{AWAY}> AS ?v)" + "".join(parts) + "}"


def test_F_X3_every_way_to_join_tokens_is_refused_where_the_engine_would_connect():
    connected = tried = 0
    for head, glue, turn in itertools.product(HEADS, GLUE, range(2)):
        keyword, name, tail = KEYWORDS[tried % len(KEYWORDS)], NAMES[tried % 5 + turn], TAILS[tried % len(TAILS)]
        tried += 1
        query = query_of(head, glue, keyword, name, tail)
        if connects(query):
            connected += 1
            assert is_refused(query), query
    assert connected > tried / 20, f"{connected} of {tried}: the test reaches the engine too rarely"


PIECES = [*HEADS, *GLUE, *KEYWORDS, *NAMES, *TAILS, "FILTER(", ")", "(", "{", "}", "<", ">", "<<", "'", '"', "'''", "#",
          "\n", " ", "1", "true", "VALUES ?x", "BIND(1<", "a", "ex:", "&&", "?a", "\\"]  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join))
@example("FILTER(1<'x>')SERVICE :x{?a ?b ?c}FILTER(''='')")
@example("VALUES ?x{'''a'#\\q\n}SERVICE :x{?a ?b ?c}#'''\n")
@example("service:x{?a ?b ?c}")
@example("ex:s ex:p ex:a.b.SERVICE :x{?a ?b ?c}")
def test_F_X3_no_mixture_of_pieces_gets_through(body):
    query = query_of(body)
    if connects(query):
        assert is_refused(query), query


@pytest.mark.parametrize("letter", [chr(code) for code in range(0x21, 0x7F)] + ["\u00a0", "\u00e9", "\ue000"])
def test_F_X3_an_iri_ends_where_the_engine_ends_it(letter):
    query = f"SELECT * {{ ?s ?p <http://e/{letter}> }}"
    if parses(query):
        assert [token.text for token in tokens_of(query) if token.kind == "iri"] == [f"<http://e/{letter}>"]


ALLOWED = [
    "SELECT ?service { ?service a <http://schema.org/Service> }",
    "PREFIX schema: <http://schema.org/> SELECT * { ?s schema:serviceType 'SERVICE <http://x/> { }' }",
    'SELECT * { ?s ?p """a "SERVICE" \\" LOAD""" } # SERVICE <http://x/> { }',
    "PREFIX service: <http://e/service#> SELECT * { ?s a service:Thing . GRAPH service:g { ?s ?p ?o } }",
    "SELECT * { ?s ?p 'a'@en-service . _:service ?p 5 }",
    "SELECT * { ?a ?b ?c . ?d ?e ?f FILTER(?c<?f&&?f>?c) FILTER(?c < 5 && ?f > 3) FILTER(?c<'x'&&?f>'y') }",
    "SELECT * { VALUES (?a ?b) { (<http://e/#a> <http://e/#b>) (1 <urn:x#y>) } }",
    "SELECT * { ?s ?p (1 <http://e/#b> <urn:c>) . ?s (<urn:a#x>|<urn:b#y>)/<urn:c#z>* ?o }",
    "BASE <http://b/#x> SELECT (COUNT(DISTINCT <urn:a#b>) AS ?n) { ?s <#p> <it's> }",
    "SELECT * { ?s ?p ?o FILTER(?o IN (<urn:a#b>, <urn:c#d>)) FILTER(STRLEN(?o)<5) } ORDER BY DESC(?o) LIMIT 5",
    "CONSTRUCT { ?s ?p [] } WHERE { ?s ?p ?o MINUS { ?s a <x:y> } OPTIONAL { ?s ?p '''it's''' } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?s <http://e/#q> ?x FILTER(?x<?o) } }",
    "PREFIX ex: <http://e/> SELECT * { ?s ex:a.b.c 1.5 . ?s ex:p true; ex:q -1.5e3, .5 }",
]


@pytest.mark.parametrize("query", ALLOWED)
def test_F_X3_no_query_is_refused_for_a_word_that_is_no_keyword(query):
    assert not is_refused(query)
    assert not connects(query), "the engine agrees that no other server is queried"


def test_F_X3_a_query_widened_by_inference_is_checked_too():
    with pytest.raises(QueryRefused):
        refuse_remote(tokens_of("SELECT * { { SELECT DISTINCT ?x WHERE { ?x ?y 1 } } trueSERVICE <x:y> { } }"))


def cost_of(length: int, text: str) -> float:
    query = f"SELECT * {{ ?s ?p {text * (length // len(text))}"
    started = time.process_time()
    with contextlib.suppress(QueryRefused):
        tokens_of(query)
    return time.process_time() - started


HARD = ['"""' + '\\"' * 30, '\\"', '"""', "'''\\'", '"', "a.", "a.b-", "ex:a.", "<", "<a", "<<", "#", "1.", "1e", "@a-",
        "?", "_:a.", "(", "{ (", "FILTER(1<'", ")", "%4", "ex:%", "\\u00", "'\\u0041"]  # fmt: skip


@pytest.mark.parametrize("text", HARD)
def test_F_X15_a_query_is_checked_in_linear_time(text):
    """Forty times the length may take a few times forty as long, but not the 1,600 times of a square."""
    small = max(min(cost_of(10_000, text) for _ in range(3)), 0.0005)
    assert cost_of(400_000, text) < 300 * small


def test_F_X15_a_long_query_of_quotes_and_escapes_is_checked_quickly():
    query = 'SELECT * { ?s ?p """' + '\\"' * 9_000 + '" } #'
    assert len(query) < LONGEST_QUERY
    started = time.process_time()
    assert is_refused(query)
    assert time.process_time() - started < 0.1
