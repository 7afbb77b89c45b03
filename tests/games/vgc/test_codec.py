import pytest

from pvp_ml.games.vgc import codec
from pvp_ml.games.vgc.actions import PASS, PREVIEWS, SWITCH


def test_mdbo_has_2025_turns_and_every_one_round_trips():
    assert codec.MDBO_TURNS == 2025
    assert [codec.to_mdbo(*codec.from_mdbo(n)) for n in range(2025)] == list(range(2025))
    assert len({codec.from_mdbo(n) for n in range(2025)}) == 2025


@pytest.mark.parametrize(
    ("number", "left", "right"),
    [
        (0, 0, 0),  # move 1 at the own right place, twice
        (45 * 3 + 44, 3, PASS),  # move 1 at the left foe, then pass
        (45 * 44 + 41, PASS, SWITCH + 1),
        (45 * 39 + 2, 39, 2),  # move 4 with gimmick at the right foe, move 1 without target
        (2024, PASS, PASS),
    ],
)
def test_mdbo_numbers(number, left, right):
    assert codec.from_mdbo(number) == (left, right)
    assert codec.to_mdbo(left, right) == number


def test_mdbo_refuses_what_it_cannot_say():
    with pytest.raises(codec.CodecError, match="no switch 5"):
        codec.to_mdbo(SWITCH + 4, PASS)
    for wrong in (-1, 2025):
        with pytest.raises(codec.CodecError, match="outside 0…2024"):
            codec.from_mdbo(wrong)
    with pytest.raises(codec.CodecError, match="slot choice 47"):
        codec.to_mdbo(47, 0)


def test_90_previews_in_the_order_of_the_original():
    assert len(PREVIEWS) == codec.MDBO_PREVIEWS == 90
    assert PREVIEWS[0] == (1, 2, 3, 4) and PREVIEWS[1] == (1, 2, 3, 5) and PREVIEWS[89] == (5, 6, 3, 4)
    assert list(PREVIEWS) == sorted(PREVIEWS)
    assert [codec.preview_to_mdbo(codec.preview_from_mdbo(n)) for n in range(90)] == list(range(90))
    assert codec.order_of_preview(90) == "team 5634"


def test_preview_orders_are_unordered_pairs():
    assert codec.preview_of_order((2, 1, 4, 3)) == codec.preview_of_order((1, 2, 3, 4, 5, 6)) == 1
    assert codec.preview_of_order((6, 5, 4, 3)) == 90
    with pytest.raises(codec.CodecError, match="four different"):
        codec.preview_of_order((1, 1, 2, 3))


@pytest.mark.parametrize(
    ("choice", "gimmick", "number"),
    [
        (0, "", 7),  # move 1, target −2
        (4, "", 11),  # move 1, target +2
        (32, "", 24),  # move 4 without target
        (5 + 3, "terastallize", 7 + 80 + 3),
        (5 + 3, "mega", 7 + 20 + 3),
        (SWITCH + 2, "", 1 + 5),
        (PASS, "", 0),
    ],
)
def test_poke_env_numbers(choice, gimmick, number):
    places = [3, 1, 5, 0]
    assert codec.to_poke_env(choice, gimmick, places) == number
    assert codec.from_poke_env(number, gimmick, places) == choice


def test_poke_env_round_trips_on_every_expressible_choice():
    places = [2, 0, 3, 1, 5, 4]
    for gimmick in ("terastallize", "mega"):
        numbers = [codec.to_poke_env(choice, gimmick, places) for choice in range(47)]
        assert len(set(numbers)) == 47 and max(numbers) < codec.POKE_ENV_SLOT
        assert [codec.from_poke_env(n, gimmick, places) for n in numbers] == list(range(47))


def test_poke_env_refuses_what_the_request_does_not_offer():
    with pytest.raises(codec.CodecError, match="gimmick"):
        codec.to_poke_env(5, "", [0, 1, 2, 3])
    with pytest.raises(codec.CodecError, match="lists 4"):
        codec.to_poke_env(SWITCH + 5, "", [0, 1, 2, 3])
    with pytest.raises(codec.CodecError, match="another gimmick"):
        codec.from_poke_env(27, "terastallize", [0, 1, 2, 3])


def test_spelling_by_index():
    assert codec.spell(4, SWITCH + 2, ("", "")) == "move 1 +2, switch 3"
    assert codec.spell(15 + 1, PASS, ("terastallize", "")) == "move 2 -1 terastallize, pass"
