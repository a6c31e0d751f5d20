"""Learn the tables of `gossamer.parse.blocks.importance` from the public content sets, and write `weights.json`.

    python -m tools.content_weights --check     # cross-validation by host: trained on the others, scored on the rest
    python -m tools.content_weights --write     # from all pages

Labels: of article-extraction-benchmark and mozilla-readability, whether the block's words are in the gold text; of
trafilatura-eval, the strings that must and must not be found. Its other blocks have no gold: there, and with a lower
weight, the result of trafilatura is taken. Each page counts the same within its set. Ridge regression on the
logarithm of the odds, by Newton's method; nothing is drawn by chance. The second step learns from scores that the
first gave to pages it had not seen.
"""

import argparse
import json
import re
from collections import defaultdict
from hashlib import md5
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from bench.content import ARTICLES, HOME, READABLE, SETS, STRINGS, compared, f1, pages, trafilatura
from publicsuffixlist import PublicSuffixList

from gossamer.parse.blocks import importance
from gossamer.parse.blocks.choice import choice_from
from gossamer.parse.blocks.signs import CUES, NAMES
from gossamer.parse.content import may_have_nosnippet, outlined, title_of
from gossamer.parse.html.tree import parse_html, scan_html

TARGET = Path(importance.__file__).with_name("weights.json")
FOLDS = 6
PAGE_WEIGHT = {ARTICLES: 30.0, STRINGS: 12.0, READABLE: 4.0}
SILVER = 0.5
"""The weight of a label that a program gave, relative to one by people."""
RIDGE = (3.0, 8.0)
"""Of the two steps."""
FIRST_SIZES = (55, 64, 44, 40, 24, 81, 21, 28, 32, 20, 16, 28, 32, 12, 4, 12, 20, 8)
"""The number of values of each property in the first step."""
SECOND_SIZES = (48, 24, 28, 112, 100, 10, 48, 48, 8, 13, 28, 17, 36, 40, 64, 55, 20, 12, 20, 8, 4, 44)
_NAME_BITS, _CUE_BITS = max(NAMES.values()).bit_length(), max(CUES.values()).bit_length()
FIRST_MASKS = (_NAME_BITS, _NAME_BITS, _CUE_BITS)
SECOND_MASKS = (_NAME_BITS, _NAME_BITS, _NAME_BITS, _CUE_BITS)
"""Properties that are sets of words (`signs.py`), by their number of bits; they come last."""
FAVOUR = 0.1
"""Added to each score: text that is left out by mistake costs a search more than text that is not."""
SHINGLE = 4


def labels(blocks, gold):
    """Of each block the share of its words that are in the gold text; None if it has no words.

    Each shingle of the gold counts once. Short blocks must be between the places of their neighbours."""
    words = words_in(gold)
    places = defaultdict(list)
    for at in range(len(words) - SHINGLE + 1):
        places[tuple(words[at : at + SHINGLE])].append(at)
    found, spans, used = [None] * len(blocks), [None] * len(blocks), defaultdict(int)
    for number, block in enumerate(blocks):
        own = words_in(block)
        if len(own) < SHINGLE:
            continue
        hits = []
        for at in range(len(own) - SHINGLE + 1):
            shingle = tuple(own[at : at + SHINGLE])
            if used[shingle] < len(places.get(shingle, ())):
                hits.append(places[shingle][used[shingle]])
                used[shingle] += 1
        found[number] = len(hits) / (len(own) - SHINGLE + 1)
        if found[number] >= 0.5:
            spans[number] = (hits[0], hits[-1] + SHINGLE)
    for number, block in enumerate(blocks):
        own = words_in(block)
        if found[number] is None and own:
            found[number] = float(_is_between(own, words, number, spans))
    return found


def _is_between(own, words, number, spans):
    before = next((span[1] for span in reversed(spans[:number]) if span), None)
    after = next((span[0] for span in spans[number + 1 :] if span), None)
    if before is None and after is None:
        return False
    low = before if before is not None else max(0, after - 40)
    high = after if after is not None else before + 40
    low, high = min(low, high), max(low, high)
    part = words[max(0, low - 1) : min(high + 1, low + 200)]
    return any(part[at : at + len(own)] == own for at in range(len(part) - len(own) + 1))


def words_in(text):
    return re.findall(r"\w+", text)


class Sample:
    """A page with its blocks, labels and weights."""

    def __init__(self, page, silver):
        self.page = page
        seen = scan_html(parse_html(page.utf8).tree)
        self.title = title_of(seen)
        self.outline = outlined(seen, may_have_nosnippet(page.utf8)).page
        texts = [block.text for block in self.outline.blocks]
        self.rows = importance.first_properties(self.outline, self.title) if texts else []
        if page.kind == STRINGS:
            gold = [
                1.0 if any(one in text for one in page.wanted) else
                0.0 if any(one in text for one in page.unwanted) else None
                for text in texts
            ]  # fmt: skip
        else:
            gold = labels(texts, page.text)
        if page.kind != ARTICLES:
            guessed = labels(texts, silver(page.utf8))
        self.labels, weights = [], []
        for at, text in enumerate(texts):
            label, width = gold[at], (min(len(text), 400) + 20) / 100
            if label is None and page.kind != ARTICLES:
                label, width = guessed[at], width * SILVER
            elif page.kind == STRINGS:
                width = 2.0
            self.labels.append(label)
            weights.append(0.0 if label is None else width)
        total = sum(weights) or 1.0
        self.weights = [weight * PAGE_WEIGHT[page.kind] / total for weight in weights]


def fold_of(page):
    host = urlsplit(page.url).hostname
    domain = host if page.kind == READABLE else PublicSuffixList().privatesuffix(host) or host
    return int(md5(domain.encode()).hexdigest(), 16) % FOLDS


def design(rows, sizes, masks):
    """One column for each value of each property, and for each bit of each set of words."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes) + len(masks))
    matrix = np.zeros((len(rows), sum(sizes) + sum(masks) + 1), np.float32)
    start = 0
    for at, size in enumerate(sizes):
        assert not len(rows) or table[:, at].max() < size, (at, table[:, at].max())
        matrix[np.arange(len(rows)), start + table[:, at]] = 1
        start += size
    for at, size in enumerate(masks, len(sizes)):
        for bit in range(size):
            matrix[:, start + bit] = table[:, at] >> bit & 1
        start += size
    matrix[:, -1] = 1
    return matrix


def fitted(matrix, wanted, weights, ridge):
    beta = np.zeros(matrix.shape[1])
    penalty = np.full(matrix.shape[1], ridge)
    penalty[-1] = 1e-3
    for _ in range(15):
        odds = 1 / (1 + np.exp(-np.clip(matrix @ beta.astype(np.float32), -30, 30)))
        slope = matrix.T @ (weights * (wanted - odds)).astype(np.float32) - penalty * beta
        curve = (weights * np.maximum(odds * (1 - odds), 1e-4)).astype(np.float32)
        step = np.linalg.solve((matrix * curve[:, None]).T @ matrix + np.diag(penalty), slope)
        largest = np.abs(step).max()
        beta += step * min(1.0, 3 / largest)
        if largest < 1e-3:
            break
    return beta


class Learner:
    """One step, for every fold and for all pages."""

    def __init__(self, samples, folds, rows, sizes, masks, ridge):
        """`rows`: of each sample, the index and the properties of blocks."""
        self.matrices = [design([row for _, row in one], sizes, masks) for one in rows]
        wanted, weights, of = [], [], []
        for number, one in enumerate(rows):
            for at, _ in one:
                label = samples[number].labels[at]
                wanted.append(float((label or 0.0) >= 0.5))
                weights.append(samples[number].weights[at])
                of.append(folds[number])
        self.every = np.concatenate(self.matrices)
        self.wanted, self.weights, self.of = np.array(wanted), np.array(weights), np.array(of)
        self.ridge, self.folds = ridge, folds

    def all(self):
        return fitted(self.every, self.wanted, self.weights, self.ridge)

    def unseen(self):
        """The scores of each sample's blocks, learned from the other folds."""
        betas = {}
        for fold in sorted(set(self.folds)):
            others = self.of != fold
            betas[fold] = fitted(self.every[others], self.wanted[others], self.weights[others], self.ridge)
        return [matrix @ betas[fold] for matrix, fold in zip(self.matrices, self.folds, strict=True)]


def learned(samples, folds):
    first = Learner(
        samples,
        folds,
        [[(at, row) for at, row in enumerate(one.rows) if row] for one in samples],
        FIRST_SIZES,
        FIRST_MASKS,
        RIDGE[0],
    )
    scores = []
    for sample, its in zip(samples, first.unseen(), strict=True):
        known = iter(map(float, its))
        scores.append([next(known) if row else importance.MENU for row in sample.rows])
    rows = [
        importance.second_properties(one.outline, one.rows, its) if one.rows else []
        for one, its in zip(samples, scores, strict=True)
    ]
    second = Learner(samples, folds, rows, SECOND_SIZES, SECOND_MASKS, RIDGE[1])
    return first, scores, rows, second


def check(samples, folds):
    _, scores, rows, second = learned(samples, folds)
    for scored, one, its in zip(scores, rows, second.unseen(), strict=True):
        for (at, _), score in zip(one, its, strict=True):
            scored[at] = float(score)
    for cut in (-0.4, -0.2, 0.0, 0.2, 0.4):
        for chooses in (False, True):
            counts = {kind: [] for kind in SETS}
            articles = 0
            for sample, scored in zip(samples, scores, strict=True):
                odds = [1 / (1 + np.exp(cut - score)) for score in scored]
                if chooses:
                    choice = choice_from(sample.outline, odds)
                    odds = choice.importances
                    articles += choice.is_article
                text = " ".join([b.text for b, one in zip(sample.outline.blocks, odds, strict=True) if one >= 0.5])
                counts[sample.page.kind].append(compared(sample.page, text))
            print(
                cut,
                f"{articles} articles",
                *[f"{kind} {f1(kind, found):.4f}" for kind, found in counts.items()],
                flush=True,
            )


def tables(beta, sizes, masks, favour=0.0):
    numbers = [round(float(one), 2) for one in beta]
    parts, start = [], 0
    for size in (*sizes, *masks):
        parts.append(numbers[start : start + size])
        start += size
    return {"start": round(numbers[-1] + favour, 2), "tables": parts[: len(sizes)], "masks": parts[len(sizes) :]}


def write(samples, folds):
    first, _, _, second = learned(samples, folds)
    made = (
        f"Made by tools/content_weights.py from {len(samples)} public pages: "
        + ", ".join([f"{sum(one.page.kind == kind for one in samples)} of {kind}" for kind in SETS])
        + ". Tables of an additive model on the logarithm of the odds; see the docstrings there."
    )
    said = {
        "made": made,
        "first": tables(first.all(), FIRST_SIZES, FIRST_MASKS),
        "second": tables(second.all(), SECOND_SIZES, SECOND_MASKS, FAVOUR),
    }
    lines = json.dumps(said, indent=1)
    TARGET.write_text(re.sub(r"\[\s+([-\d., \n]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=HOME)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    every = pages(given.home)
    silver = trafilatura()
    samples = [Sample(page, silver) for page in every]
    folds = [fold_of(page) for page in every]
    if given.check:
        check(samples, folds)
    if given.write:
        write(samples, folds)


if __name__ == "__main__":
    main()
