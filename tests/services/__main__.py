"""Fetch and build the servers that tests need, before the tests run: `python -m tests.services`.

What cannot be had here is passed over: the tests that need it say so and are skipped.
"""

import shutil
import sys

from tests.services import fuseki, java, opensearch, s3


def main() -> None:
    if why := java.why_absent():
        print(f"without OpenSearch and Fuseki: {why}", file=sys.stderr)
    else:
        for artifact in (opensearch.ARTIFACT, fuseki.ARTIFACT):
            java.jars(artifact)
    if shutil.which("go") is None:
        print("without an S3 server: Go is missing, which builds it", file=sys.stderr)
    elif why := s3.why_not_built():
        print(f"without an S3 server: {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
