import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.errors import UserError
from pvp_ml.spec import (
    Block,
    Feature,
    GameSpec,
    Head,
    Interface,
    RewardTerm,
    Rule,
    Scenario,
    Signal,
    SpecError,
    digest,
)

SPEC = GameSpec(
    name="duel",
    version=3,
    teams=((0, 2), (1, 3)),
    blocks=(
        Block("self", 1, (Feature("hp", partial=True), Feature("kind", "id", vocab=5, constant=True))),
        Block("pads", 3, (Feature("ready", "flag"), Feature("seconds"))),
    ),
    privileged=(Block("hidden", 1, (Feature("their_hp"),)),),
    heads=(
        Head("verb", ("wait", "hit")),
        Head("how", ("none", "hard", "soft"), (Rule("none", "none", (("verb", "hit"),)),), fallback="none"),
        Head("stick", ("left", "right"), table=((-1.0, 0.0), (1.0, 0.0))),
    ),
    rewards=(RewardTerm("damage", "hp"), RewardTerm("win")),
    max_steps=100,
    signals=(Signal("hits", "hits"), Signal("hp", fold="last")),
    bots=("dummy",),
    scenarios=(Scenario("default"), Scenario("far", (("distance", 7), ("dark", True)))),
    parameters=(("tick_ms", 600), ("arena", "flat")),
)


def test_sizes_and_feature_order():
    assert (SPEC.seats, SPEC.obs_size, SPEC.privileged_size, SPEC.mask_size) == (4, 8, 1, 7)
    assert SPEC.head_sizes == (2, 3, 2)
    names = [f.name for f in SPEC.features]
    assert names == ["hp", "kind", "ready", "seconds", "ready", "seconds", "ready", "seconds"]
    assert [SPEC.team_of(seat) for seat in range(4)] == [0, 1, 0, 1]
    assert SPEC.scenario("far").parameters == (("distance", 7), ("dark", True))


def test_json_gives_back_an_equal_spec_with_equal_digests():
    back = GameSpec.from_json(json.loads(json.dumps(SPEC.to_json())))
    assert back == SPEC
    assert (back.interface_digest, back.game_digest) == (SPEC.interface_digest, SPEC.game_digest)


def test_the_interface_is_what_a_policy_depends_on():
    back = Interface.from_json(json.loads(json.dumps(SPEC.interface.to_json())))
    assert back == SPEC.interface == Interface(SPEC.blocks, SPEC.heads, SPEC.privileged)
    assert back.digest == SPEC.interface_digest == Interface(SPEC.blocks, SPEC.heads).digest
    with pytest.raises(SpecError, match=r"needs 'verb\.hit', which no earlier head has"):
        Interface.from_json({**SPEC.interface.to_json(), "heads": SPEC.interface.to_json()["heads"][1:]})


def test_digests_are_pinned():
    """A change here breaks every bundle and every resume: it needs a version step and a line in the changelog."""
    assert digest({"b": [1, "ü"], "a": None}) == "e6079cc869da30fa7778650261b5c569a08642cba6de37e7cffd9ab5d28d87c8"
    assert SPEC.interface_digest == "3f1ec6164200265825a7de5a5adf82bc0be468f7e0b3a52ec25618d67ba2b838"
    assert SPEC.game_digest == "2ae92f7c2f324bb9b87b25aed6e974df9e0c2c547a2b0147b316280513142dc2"


def changed(**parts):
    return replace(SPEC, **parts)


@pytest.mark.parametrize(
    ("other", "interface_changes", "game_changes"),
    [
        (changed(version=4), False, True),
        (changed(max_steps=101), False, True),
        (changed(parameters=()), False, True),
        (changed(rewards=SPEC.rewards[::-1]), False, True),
        (changed(signals=()), False, True),
        (changed(privileged=()), False, True),
        (changed(teams=((0,), (1,), (2,), (3,))), False, True),
        (changed(blocks=SPEC.blocks[::-1]), True, True),
        (changed(heads=(SPEC.heads[0], replace(SPEC.heads[1], rules=()), SPEC.heads[2])), True, True),
        (changed(heads=(*SPEC.heads[:2], replace(SPEC.heads[2], table=None))), True, True),
        (changed(heads=(SPEC.heads[0], replace(SPEC.heads[1], doc="words"), SPEC.heads[2])), False, False),
        (changed(scenarios=(Scenario("default", doc="words"), *SPEC.scenarios[1:])), False, False),
    ],
)
def test_what_changes_which_digest(other, interface_changes, game_changes):
    assert (other.interface_digest != SPEC.interface_digest) == interface_changes
    assert (other.game_digest != SPEC.game_digest) == game_changes


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"teams": ((0, 1), (1, 2))}, "must use each seat 0…3 once"),
        ({"teams": ()}, "must use each seat"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"blocks": (SPEC.blocks[0], SPEC.blocks[0])}, "block names are not unique"),
        ({"privileged": (replace(SPEC.blocks[0], count=2),)}, "block names are not unique"),
        ({"heads": (SPEC.heads[0], SPEC.heads[0])}, "head names are not unique"),
        ({"signals": (Signal("a"), Signal("a"))}, "signal names are not unique"),
        ({"rewards": (RewardTerm("a"), RewardTerm("a"))}, "reward term names are not unique"),
        ({"scenarios": (Scenario("a"), Scenario("a"))}, "scenario names are not unique"),
        ({"bots": ("a", "a")}, "bot names are not unique"),
        ({"blocks": (replace(SPEC.blocks[0], count=0),)}, "block 'self' is empty"),
        ({"privileged": (Block("hidden", 1, ()),)}, "block 'hidden' is empty"),
        ({"heads": (Head("a", ()),)}, "at least one and unique"),
        ({"heads": (Head("a", ("x", "x")),)}, "at least one and unique"),
        ({"heads": (Head("a", ("x",), fallback="y"),)}, "fallback 'y' is not one of its choices"),
        ({"heads": (Head("a", ("x",), table=((1.0,), (2.0,))),)}, "table has 2 rows for 1 choices"),
        ({"heads": (Head("a", ("x",), (Rule("y", "all", ()),)),)}, "rule for unknown choice 'y'"),
        ({"heads": (SPEC.heads[1],)}, "needs 'verb.hit', which no earlier head has"),
        (
            {"heads": (SPEC.heads[0], Head("b", ("x",), (Rule("x", "all", ()), Rule("x", "all", ()))))},
            "has two 'all' rules",
        ),
    ],
)
def test_contradictions_are_refused(parts, says):
    with pytest.raises(SpecError) as error:
        changed(**parts)
    assert says in str(error.value)


@pytest.mark.parametrize("wrong", [{"kind": "id"}, {"kind": "real", "vocab": 3}, {"vocab": 3}])
def test_only_ids_have_a_vocabulary(wrong):
    with pytest.raises(SpecError, match="only kind 'id' takes a vocab"):
        Feature("x", **wrong)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(UserError, match="no scenario 'near' — choose one of: default, far"):
        SPEC.scenario("near")
    with pytest.raises(SpecError, match=r"unknown keys \['colour'\]"):
        GameSpec.from_json({**SPEC.to_json(), "colour": 1})


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("teams"),
        lambda d: d.update(teams=3),
        lambda d: d["heads"][0].pop("choices"),
        lambda d: d["heads"][0].update(size=3),
        lambda d: d["heads"][1]["rules"][0].update(picks=[["verb"]]),
        lambda d: d.update(blocks=[None]),
        lambda d: d["blocks"][0]["features"][0].update(colour="red"),
        lambda d: d.update(scenarios=[{"name": "x"}]),
        lambda d: d.update(max_steps="many"),
    ],
)
def test_malformed_json_is_a_spec_error(change):
    data = json.loads(json.dumps(SPEC.to_json()))
    change(data)
    with pytest.raises(SpecError):
        GameSpec.from_json(data)


names = st.text("abcdefgh", min_size=1, max_size=4)


@st.composite
def specs(draw):
    heads = []
    for h in range(draw(st.integers(1, 4))):
        choices = tuple(f"c{h}{i}" for i in range(draw(st.integers(1, 4))))
        picks = tuple((head.name, c) for head in heads for c in head.choices)
        rules = ()
        if picks:
            rules = tuple(
                Rule(c, when, tuple(draw(st.lists(st.sampled_from(picks), unique=True, max_size=3))))
                for c in choices
                for when in draw(st.lists(st.sampled_from(("all", "any", "none")), unique=True))
            )
        heads.append(Head(f"h{h}", choices, rules, draw(st.sampled_from((None, choices[0])))))
    kinds = st.sampled_from((("real", None), ("flag", None), ("id", 7)))
    features = tuple(Feature(f"f{i}", *draw(kinds)) for i in range(draw(st.integers(1, 4))))
    blocks = tuple(Block(f"b{i}", draw(st.integers(1, 3)), features) for i in range(draw(st.integers(1, 3))))
    seats = draw(st.integers(1, 4))
    return GameSpec(
        draw(names), 1, tuple((s,) for s in range(seats)), blocks, tuple(heads), (RewardTerm("r"),), max_steps=5
    )


@settings(max_examples=100, deadline=None)
@given(specs())
def test_any_spec_survives_json(spec):
    back = GameSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert back == spec
    assert back.game_digest == spec.game_digest
    assert len(spec.features) == spec.obs_size
