"""`python tests/fuzz/run_atheris.py TARGET SECONDS`: coverage-guided fuzzing of one parser; exit 0 means no finding.

Needs atheris (`pip install 'pvp-ml[fuzz]'`). A finding is written beside the corpus and named in the output: an
exception that is no UserError, a crash, or a file that takes two minutes (the machine may be busy) or 2 GB.
"""

import sys
import tempfile
from pathlib import Path

import atheris

SOURCES = Path(__file__).parent.parent.parent / "src"
MAX_BYTES = 1 << 16


def compiled_modules() -> list[str]:
    """Kernels: numba cannot compile instrumented bytecode."""
    files = [path.relative_to(SOURCES).with_suffix("") for path in SOURCES.rglob("*.py")]
    return [".".join(path.parts) for path in files if "kernels" in path.parts]


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    # Games are imported when they are first built, so the whole run is inside: what is imported outside guides nothing.
    with atheris.instrument_imports(include=["pvp_ml"], exclude=compiled_modules()):
        import targets

        from pvp_ml.errors import UserError

        target, seconds = targets.TARGETS[sys.argv[1]], int(sys.argv[2])
        seeds = target.seeds()
        for seed in seeds:
            target.attempt(seed)

    def attempt(data: bytes) -> None:
        try:
            target.attempt(data)
        except UserError as refusal:
            str(refusal)

    with tempfile.TemporaryDirectory(prefix="pvp-ml-corpus-") as folder:
        for i, seed in enumerate(seeds):
            (Path(folder) / f"seed-{i}").write_bytes(seed)
        longest = max(MAX_BYTES, *(2 * len(seed) for seed in seeds))
        limits = [f"-max_total_time={seconds}", "-timeout=120", "-rss_limit_mb=2048", f"-max_len={longest}"]
        atheris.Setup([sys.argv[0], folder, *limits, "-print_final_stats=1"], attempt)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
