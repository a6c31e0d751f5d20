"""Fuzz one extractor: `python -m fuzz.one NAME [libFuzzer's own arguments]`. The driver calls it."""

import sys

import atheris

with atheris.instrument_imports(include=["gossamer.extract", "gossamer.parse"]):
    from fuzz.targets import TARGETS


def main() -> None:
    name, arguments = sys.argv[1], sys.argv[2:]
    atheris.Setup([sys.argv[0], *arguments], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
