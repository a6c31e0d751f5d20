"""The folder of the public test suites: $GOSSAMER_CONFORMANCE, or `shared/conformance` next to the repository."""

import os
from pathlib import Path

HOME = Path(os.environ.get("GOSSAMER_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
