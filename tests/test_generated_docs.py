"""Files that are made from the code are up to date."""

from pathlib import Path

from pvp_ml.cli.options_page import page

ROOT = Path(__file__).parent.parent


def test_train_options_is_fresh():
    assert (ROOT / "TRAIN_OPTIONS.md").read_text() == page(), "run `make docs`"
