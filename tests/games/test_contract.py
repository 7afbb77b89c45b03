import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.games import contract as contract_module
from pvp_ml.games.contract import ContractError, load_contract, parse_contract
from pvp_ml.spec import Feature, Rule

SMALL = {
    "actions": [
        {
            "id": "attack",
            "description": "how",
            "actions": [{"id": "wait", "description": ""}, {"id": "hit", "description": ""}],
        },
        {
            "id": "kind",
            "description": "which",
            "actions": [
                {"id": "none", "description": "", "dependencies": {"require_none": ["hit"]}},
                {"id": "hard", "description": "", "dependencies": {"require_all": ["hit"], "require_any": ["hit"]}},
            ],
        },
    ],
    "observations": [
        {"id": "health", "description": "0…1", "partial": True},
        {"id": "level", "description": "", "constant": True},
    ],
}


def parsed(change=None):
    content = json.loads(json.dumps(SMALL))
    if change is not None:
        change(content)
    return parse_contract(json.dumps(content).encode(), "small")


def test_heads_rules_fallback_and_features():
    contract = parsed()
    assert [h.choices for h in contract.heads] == [("wait", "hit"), ("none", "hard")]
    assert [h.fallback for h in contract.heads] == ["wait", "none"]
    hit = (("attack", "hit"),)
    assert contract.heads[1].rules == (Rule("none", "none", hit), Rule("hard", "all", hit), Rule("hard", "any", hit))
    assert contract.features == (Feature("health", partial=True), Feature("level", constant=True))
    assert contract.features[0].doc == "0…1"
    assert [f.name for f in contract.hidden.features] == ["health"]
    assert contract.observation.width == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.update(action=[]), "unknown key 'action' — did you mean 'actions'?"),
        (lambda c: c["actions"][0].update(foo=1), "actions[0] has the unknown key 'foo' — known keys: id, description"),
        (lambda c: c["observations"][1].update(constnt=True), "did you mean 'constant'?"),
        (
            lambda c: c["actions"][1]["actions"][0]["dependencies"].update(require_nothing=[]),
            "actions[1].actions[0].dependencies has the unknown key 'require_nothing' — did you mean 'require_none'?",
        ),
        (lambda c: c["actions"][0].pop("description"), "actions[0] has no 'description'"),
        (lambda c: c.pop("observations"), "has no 'observations'"),
        (lambda c: c.update(actions=[]), "actions has 0 entries, allowed are 1 to 256"),
        (lambda c: c.update(actions={}), "actions is {} — a list is expected"),
        (lambda c: c["actions"][0].update(id=""), "actions[0].id is ''"),
        (lambda c: c["actions"][0].update(id="a\u0007b"), "printable"),
        (lambda c: c["actions"][0].update(id="x" * 129), "1 to 128"),
        (lambda c: c["actions"][1].update(id="attack"), "head ids are not unique: 'attack'"),
        (lambda c: c["actions"][1]["actions"][0].update(id="hit"), "action ids are not unique: 'hit'"),
        (lambda c: c["observations"][1].update(id="health"), "observation ids are not unique: 'health'"),
        (lambda c: c["observations"][0].update(partial=1), "observations[0].partial is 1 — write true or false"),
        (
            lambda c: c["actions"][1]["actions"][0]["dependencies"].update(require_all=["hti"]),
            "no earlier head has 'hti' — did you mean 'hit'?",
        ),
        (
            lambda c: c["actions"][0]["actions"][0].update(dependencies={"require_all": ["hard"]}),
            "actions[0].actions[0].dependencies.require_all: no earlier head has 'hard'",
        ),
        (
            lambda c: c["actions"][1]["actions"][0].update(dependencies={"require_all": ["hard"]}),
            "no earlier head has 'hard'",
        ),
        (lambda c: c["observations"].__setitem__(0, 5), "observations[0] is 5 — an object is expected"),
    ],
)
def test_mistakes_are_refused_with_their_place(change, says):
    with pytest.raises(ContractError) as error:
        parsed(change)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b" " * (contract_module.MAX_BYTES + 1), "larger than"),
        (b"\xff\xfe", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 500_000, "not JSON"),
        (b'{"actions": [], "actions": []}', "'actions' twice"),
        (b"[]", "an object is expected"),
    ],
)
def test_hostile_bytes_are_refused(data, says):
    with pytest.raises(ContractError, match=says):
        parse_contract(data, "hostile")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_mutation_gives_a_contract_or_a_contract_error(data):
    text = bytearray(json.dumps(SMALL).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        parse_contract(bytes(text), "mutated")
    except ContractError as error:
        assert len(str(error)) < 1000


def test_lookup_order_path_then_folder_then_user_then_package(tmp_path, monkeypatch):
    def write(path, name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**SMALL, "observations": [{"id": name, "description": ""}]}), encoding="utf-8")

    monkeypatch.setenv("PVP_ML_HOME", str(tmp_path / "home"))
    assert len(load_contract("NhEnv", tmp_path).features) == 176
    write(tmp_path / "home/contracts/environments/NhEnv.json", "user")
    assert load_contract("NhEnv", tmp_path).features[0].name == "user"
    write(tmp_path / "contracts/environments/NhEnv.json", "local")
    assert load_contract("NhEnv", tmp_path).features[0].name == "local"
    write(tmp_path / "elsewhere/NhEnv.json", "given")
    assert load_contract(os.path.join("elsewhere", "NhEnv.json"), tmp_path).features[0].name == "given"
    assert load_contract(str(tmp_path / "elsewhere/NhEnv.json"), tmp_path).name == "NhEnv"


def test_an_unknown_contract_names_a_near_one(tmp_path):
    with pytest.raises(ContractError, match="did you mean 'NhEnv'"):
        load_contract("NhEvn", tmp_path)


def test_packaged_contracts_have_the_known_sizes(tmp_path):
    nh, dharok = load_contract("NhEnv", tmp_path), load_contract("DharokEnv", tmp_path)
    assert [h.size for h in nh.heads] == [4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6]
    assert [len(h.rules) for h in nh.heads] == [0, 3, 3, 4, 0, 0, 0, 0, 2, 0, 7, 0]
    assert [h.size for h in dharok.heads] == [4, 4, 2, 2, 2, 3]
    assert (len(dharok.features), len(dharok.hidden.features)) == (40, 15)
    assert sum(f.partial for f in nh.features) == len(nh.hidden.features)
