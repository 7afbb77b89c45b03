import pytest

from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import Layer, find_preset, list_presets, load_preset


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PVP_ML_HOME", str(tmp_path / "home"))
    return tmp_path / "here"


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_lookup_order(folder, tmp_path):
    mine = write(folder, "config/nh/core.yml", "run: {seed: 1}")
    users = write(tmp_path / "home", "presets/nh/core.yml", "run: {seed: 2}")
    other = write(tmp_path / "home", "presets/nh/other.yaml", "run: {seed: 3}")
    for name in ("nh/core", "nh/core.yml", "config/nh/core.yml", "presets/nh/core.yml", str(mine)):
        assert find_preset(name, folder) == mine
    assert find_preset("config/nh/other", folder) == other
    mine.unlink()
    assert find_preset("config/nh/core.yml", folder) == users


def test_alias_and_list(folder):
    path = write(folder, "config/toys/quick.yml", "title: A quick one\nalias: Quick\nrun: {seed: 1}")
    assert find_preset("Quick", folder) == path
    assert ("toys/quick", "A quick one", "Quick") in [(i.name, i.title, i.alias) for i in list_presets(folder)]
    assert load_preset("Quick", folder).data == {"run": {"seed": 1}}


def test_own_keys_win_then_the_first_parent(folder):
    write(folder, "config/a.yml", "ppo: {gamma: 0.1, n_epochs: 1, batch_size: 1}\nenv: {name: kuhn}")
    write(folder, "config/b.yml", "ppo: {gamma: 0.2, n_epochs: 2, clip: 2}")
    write(folder, "config/c.yml", "extends: [a, b]\nppo: {gamma: 0.3}")
    layer = load_preset("c", folder)
    assert layer.data == {"ppo": {"gamma": 0.3, "n_epochs": 1, "batch_size": 1, "clip": 2}, "env": {"name": "kuhn"}}
    assert layer.source(("ppo", "gamma")) == "config/c.yml"
    assert layer.source(("ppo", "n_epochs")) == "config/a.yml"
    assert layer.source(("ppo", "clip")) == "config/b.yml"
    assert layer.source(("run", "seed")) == "the defaults"


def test_the_originals_import_is_read(folder):
    write(folder, "config/a.yml", "ppo: {gamma: 0.1}")
    write(folder, "config/c.yml", "import: a\nenv: {name: kuhn}")
    assert load_preset("c", folder).data == {"ppo": {"gamma": 0.1}, "env": {"name": "kuhn"}}


def test_a_schedule_replaces_a_schedule_as_a_whole(folder):
    write(folder, "config/a.yml", "ppo: {lr: {type: linear, initial_value: 1, final_value: 0}}")
    write(folder, "config/b.yml", "extends: a\nppo: {lr: {type: constant, value: 2}}")
    layer = load_preset("b", folder)
    assert layer.data["ppo"]["lr"] == {"type": "constant", "value": 2}
    assert layer.source(("ppo", "lr")) == "config/b.yml"


def test_flags_go_on_top():
    layer = Layer.of({"ppo": {"gamma": 0.5}}, "--ppo.gamma").over(Layer.of({"ppo": {"gamma": 0.1, "clip": 1}}, "a.yml"))
    assert layer.data == {"ppo": {"gamma": 0.5, "clip": 1}}
    assert [layer.source(("ppo", key)) for key in ("gamma", "clip")] == ["--ppo.gamma", "a.yml"]


@pytest.mark.parametrize(
    ("files", "name", "says"),
    [
        ({}, "nh/cor", "there is no preset 'nh/cor'"),
        ({"config/toys/quick.yml": ""}, "toys/quik", "did you mean 'toys/quick'?"),
        ({"config/toys/tiny.yml": ""}, "tiny", "did you mean 'toys/tiny'?"),
        ({}, "nope", "there is no preset 'nope' — see `pvp-ml config list`"),
        (
            {"config/a.yml": "extends: b", "config/b.yml": "extends: a"},
            "a",
            "circle: config/a.yml → config/b.yml → config/a.yml",
        ),
        ({"config/a.yml": "extends: zzz"}, "a", "config/a.yml: extends: there is no preset 'zzz'"),
        ({"config/a.yml": "extends: [1]"}, "a", "config/a.yml: extends: 1 is not a name"),
        ({"config/a.yml": "- 1"}, "a", "config/a.yml: a preset is a mapping of sections"),
        ({"config/a.yml": "1: 2"}, "a", "config/a.yml: a preset is a mapping of sections"),
        ({"config/a.yml": "a: ["}, "a", "config/a.yml: line 1: "),
        ({}, "../outside", "there is no preset '../outside'"),
        ({}, "", "there is no preset ''"),
    ],
)
def test_errors_say_where(folder, files, name, says):
    folder.mkdir(exist_ok=True)
    for path, text in files.items():
        write(folder, path, text)
    with pytest.raises(UserError) as caught:
        load_preset(name, folder)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_chain_is_refused(folder):
    for i in range(12):
        write(folder, f"config/p{i}.yml", f"extends: p{i + 1}")
    write(folder, "config/p12.yml", "run: {seed: 1}")
    with pytest.raises(UserError, match="more than 10 deep"):
        load_preset("p0", folder)
    assert load_preset("p5", folder).data == {"run": {"seed": 1}}
