"""Search quality on public collections with judgements, through the real index and search (`make bench-search`)."""

import pytest
from bench.relevance import collections, folder, gossamer, load, ndcg
from bench.search import FLOORS

ROOT = folder()


@pytest.mark.skipif(ROOT is None, reason="the judged collections are not here; GOSSAMER_CONFORMANCE names their folder")
@pytest.mark.parametrize("name", sorted(FLOORS))
def test_M_C14_results_are_ranked_at_least_as_well_as_by_stemmed_BM25(name):
    assert ROOT is not None and name in collections(ROOT)
    collection = load(ROOT, name)
    with gossamer(collection) as ask:
        assert ndcg(ask, collection, "graded") >= FLOORS[name]
