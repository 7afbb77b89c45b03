"""Accessibility of a page, by axe-core: an npm package, fetched once into the tests' cache."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

VERSION = "4.14.0"
CACHE = Path(__file__).parents[2] / ".test-cache"


@cache
def axe_script():
    """The text of axe-core; a machine without npm or network skips the test."""
    place = CACHE / f"axe-{VERSION}"
    script = place / "node_modules/axe-core/axe.min.js"
    CACHE.mkdir(exist_ok=True)
    with FileLock(CACHE / "axe.lock"):
        if not script.is_file():
            npm = shutil.which("npm")
            if npm is None:
                pytest.skip("NO ACCESSIBILITY TEST: npm is missing")
            command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), f"axe-core@{VERSION}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"NO ACCESSIBILITY TEST: {done.stderr.strip()[-200:]}")
    return script.read_text()


def serious_findings(page):
    """[(rule, element, why), …] that axe calls serious or critical."""
    page.evaluate(axe_script())
    found = page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    return [
        (rule["id"], node["target"][0], node["failureSummary"][:160])
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
