import json
import re

import pytest

from pvp_ml.games.vgc import layout
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.layout import SCRIPTS


def test_blocks():
    spec = make_spec(VgcConfig())
    assert [(b.name, b.count, len(b.features)) for b in spec.blocks] == [
        ("global", 1, 16), ("slot", 2, 10), ("side", 2, 17), ("pokemon", 12, 98), ("attacks", 8, 29),
        ("threats", 8, 29),
    ]  # fmt: skip
    assert (spec.obs_size, spec.privileged_size, spec.mask_size) == (1710, 588, 185)


def test_the_layout_changes_only_with_its_version():
    spec = make_spec(VgcConfig())
    assert layout.version() == 4
    assert spec.interface_digest[:16] == "1df7968b77afe483"


def test_ids():
    assert layout.name_of("moves", 0) is None and layout.name_of("moves", 1) == ""
    assert layout.name_of("types", 2) == "bug"
    species = next(f for f in make_spec(VgcConfig()).blocks[3].features if f.name == "species")
    assert species.vocab == 2048 and len(layout.vocabulary("species")) == 1368


@pytest.mark.parametrize("kind", ["species", "moves", "items", "abilities", "types", "weather", "terrain", "format"])
def test_there_is_room_for_regulations_to_come(kind):
    """A third more of everything, and never a smaller room: the digest of old models depends on it."""
    assert layout.room(kind) >= 1.3 * (len(layout.vocabulary(kind)) + layout.RESERVED_IDS)


def test_columns():
    assert layout.column("global", 0, "format") == 0
    assert layout.column("pokemon", 1, "hp") - layout.column("pokemon", 0, "hp") == 98
    assert layout.column("threats", 7, "drawback") == 1709


def test_vocabularies_are_unique_and_lower_case():
    for kind, ids in json.loads((SCRIPTS / "observe" / "vocab.json").read_text()).items():
        assert len(set(ids)) == len(ids) > 10, kind
        assert all(re.fullmatch(r"[a-z0-9]+", i) for i in ids)
