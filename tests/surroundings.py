"""What tests and the processes they start may see of the user: nothing but ways to reach programs and registries."""

from pathlib import Path

KEPT = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "COMSPEC", "PATHEXT", "CI", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
KEPT_PREFIXES = (
    "PYTEST_", "COV_", "COVERAGE_", "PIP_", "NPM_CONFIG_", "npm_config_", "SSL_CERT", "REQUESTS_CA", "NODE_EXTRA",
    "ATEN_", "OPENBLAS_", "MKL_", "BLIS_", "OMP_",  # how sums are rounded
)  # fmt: skip
ASKED = (
    "PVP_ML_AXE", "PVP_ML_BROWSER",
    "PVP_ML_FUZZ_SECONDS", "PVP_ML_LEGACY_FILE", "PVP_ML_NEEDS_BROWSER", "PVP_ML_POKE_ENV_PYTHON",
    "PVP_ML_SCREENSHOTS", "PVP_ML_SOAK_S", "PVP_ML_TRACES", "PVP_ML_VGC_MODEL",
)  # fmt: skip
"""Settings of tests themselves: whoever sets one wants more tests to run, or longer ones."""


def clean_environment(own: dict[str, str], home: str, cache: str) -> dict[str, str]:
    """The environment of tests: an empty home, a cache of their own, one locale, time zone and terminal."""
    kept = {name: value for name, value in own.items() if name in (*KEPT, *ASKED) or name.startswith(KEPT_PREFIXES)}
    user = Path(own.get("HOME") or own.get("USERPROFILE") or home)
    for name, place in (("PIP_CONFIG_FILE", ".config/pip/pip.conf"), ("NPM_CONFIG_USERCONFIG", ".npmrc")):
        if (user / place).is_file():
            kept.setdefault(name, str(user / place))
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a busy machine is the rule
    return kept | threads | {
        "HOME": home, "USERPROFILE": home, "LOCALAPPDATA": home, "PVP_ML_CACHE": cache,
        "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "COLUMNS": "100", "LINES": "40",
        "PYTHONUTF8": "1",
    }  # fmt: skip
