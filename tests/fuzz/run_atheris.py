"""`python tests/fuzz/run_atheris.py TARGET SECONDS`: coverage-guided fuzzing of one parser; exit 0 means no finding.

Needs atheris (`pip install 'pvp-ml[fuzz]'`). A finding is written beside the corpus and named in the output: an
exception that is no UserError, a crash, more than 10 s or more than 2 GB for one file.
"""

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))

with atheris.instrument_imports(include=["pvp_ml"]):
    from pvp_ml.errors import UserError

import targets

MAX_BYTES = 1 << 16


def main() -> None:
    target, seconds = targets.TARGETS[sys.argv[1]], int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="pvp-ml-corpus-") as folder:
        for i, seed in enumerate(target.seeds()):
            (Path(folder) / f"seed-{i}").write_bytes(seed)

        def attempt(data: bytes) -> None:
            try:
                target.attempt(data)
            except UserError as refusal:
                str(refusal)

        longest = max(MAX_BYTES, *(2 * len(seed) for seed in target.seeds()))
        limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", f"-max_len={longest}"]
        atheris.Setup([sys.argv[0], folder, *limits, "-print_final_stats=1"], attempt)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
