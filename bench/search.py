"""Search quality: nDCG@10 on collections with judgements, with the real index and search (`make bench-search`)."""

import argparse
import sys
import time

from bench.relevance import collections, folder, gossamer, load, ndcg, plain_bm25

FLOORS = {"cranfield": 0.359, "cisi": 0.381}
"""What stemmed BM25 with k1 1.2 and b 0.75 reaches."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--words", default="", metavar="URL", help="an OpenSearch server; else the embedded index")
    words = options.parse_args().words
    root = folder()
    if root is None:
        print("no collections: name their folder in GOSSAMER_CONFORMANCE", file=sys.stderr)
        return 1
    is_right = True
    print(f"{'collection':<12}{'judges':<9}{'texts':>8}{'queries':>9}{'gossamer':>10}{'BM25':>8}{'floor':>8}{'ms':>8}")
    for name in collections(root):
        collection = load(root, name)
        plain = plain_bm25(collection)
        with gossamer(collection, words) as ask:
            for judges, judged in collection.judged.items():
                began = time.perf_counter()
                ours = ndcg(ask, collection, judges)
                each_ms = 1000 * (time.perf_counter() - began) / len(judged)
                floor = FLOORS.get(name, 0.0) if judges == "graded" else 0.0
                is_right &= ours >= floor
                theirs = ndcg(plain, collection, judges)
                print(
                    f"{name:<12}{judges:<9}{len(collection.texts):>8,}{len(judged):>9}{ours:>10.4f}{theirs:>8.4f}"
                    f"{floor:>8.3f}{each_ms:>8.1f}"
                )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
