"""Accessibility of a page, by axe-core: an npm package, fetched once into the tests' cache."""

import shutil
import subprocess

import pytest
from filelock import FileLock

VERSION = "4.14.0"


def axe_script(cache):
    """The text of axe-core; a machine without npm or network skips the test."""
    place = cache / f"axe-{VERSION}"
    script = place / "node_modules/axe-core/axe.min.js"
    with FileLock(cache / "axe.lock"):
        if not script.is_file():
            npm = shutil.which("npm")
            if npm is None:
                pytest.skip("NO ACCESSIBILITY TEST: npm is missing")
            command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), f"axe-core@{VERSION}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"NO ACCESSIBILITY TEST: {done.stderr.strip()[-200:]}")
    return script.read_text()


def serious_findings(page, script, *parts):
    """[(rule, element), …] that axe calls serious or critical, on the whole page or in these parts of it."""
    page.evaluate(script)
    scope = [[part] for part in parts]
    found = page.evaluate(
        "async (scope) => (await axe.run(scope.length ? {include: scope} : document)).violations", scope
    )
    return [
        (rule["id"], node["target"][0], node["failureSummary"][:160])
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]
