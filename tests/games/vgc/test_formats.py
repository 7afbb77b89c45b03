import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.vgc import config
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.formats import FORMATS, find_format, renamed


def test_formats():
    assert [f.id for f in FORMATS] == [
        "gen9vgc2023regc", "gen9vgc2023regd", "gen9vgc2024regg", "gen9vgc2025regi",
        "gen9championsvgc2026regma", "gen9championsvgc2026regmb",
        "gen9bssregi", "gen9championsbssregma", "gen9championsbssregmb",
    ]  # fmt: skip


def test_the_old_spelling_is_accepted_with_a_hint():
    assert find_format("gen9vgc2023regulationc").id == "gen9vgc2023regc"
    assert VgcConfig(format="gen9vgc2023regulationc").format == "gen9vgc2023regc"
    assert renamed("gen9vgc2023regulationc") == "format 'gen9vgc2023regulationc' is called 'gen9vgc2023regc' now"
    assert renamed("gen9vgc2023regc") == renamed("nonsense") == ""


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("gen9vgc2025regibo3", "gen9vgc2025regi"),
        ("[Gen 9] VGC 2025 Reg I (Bo3)", "gen9vgc2025regi"),
        ("[Gen 9 Champions] VGC 2026 Reg M-A (Bo3)", "gen9championsvgc2026regma"),
        ("gen9vgc2025regg", "gen9vgc2024regg"),
        ("[Gen 9] VGC 2025 Reg G (Bo3)", "gen9vgc2024regg"),
    ],
)
def test_names_of_best_of_three_and_of_other_seasons(name, id):
    assert find_format(name).id == id


def test_the_hint_is_printed_once(caplog):
    config._mention.cache_clear()
    for _ in range(3):
        VgcConfig(format="gen9vgc2023regulationd")
    assert [r.getMessage() for r in caplog.records] == [
        "format 'gen9vgc2023regulationd' is called 'gen9vgc2023regd' now"
    ]


def test_an_unknown_format_is_one_clear_line():
    with pytest.raises(UserError) as caught:
        VgcConfig(format="gen9vgc2025regj")
    assert str(caught.value) == "vgc has no format 'gen9vgc2025regj' — did you mean 'gen9vgc2025regi'?"
    with pytest.raises(UserError, match="choose one of: gen9vgc2023regc, "):
        find_format("ou")


def test_scenarios_cover_every_format():
    names = [s.name for s in make_spec(VgcConfig()).scenarios]
    assert names[0] == "default" and len(names) == 1 + 2 * len(FORMATS)
    assert {f.id for f in FORMATS} | {f"{f.id}/mirror" for f in FORMATS} == set(names[1:])
