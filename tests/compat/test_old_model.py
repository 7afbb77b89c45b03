"""Old model files: read without unpickling, converted to bundles that play alike, and sixty ways to be refused."""

import hashlib
import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from legacy_writer import Obj, Ordered, Raw, Scalar, Writer, forward, mlp, model_file, name, network, text, write_zip

from pvp_ml import cli
from pvp_ml.compat.convert import convert
from pvp_ml.compat.old_model import read_legacy
from pvp_ml.compat.old_values import LegacyError
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import read_bundle
from pvp_ml.rl.schedule.schedule import Schedule

CONTRACTS = Path(__file__).parents[2] / "src/pvp_ml/contracts/environments"
SMALL = {
    "actions": [
        {"id": "attack", "description": "", "actions": [
            {"id": "wait", "description": ""}, {"id": "hit", "description": ""}]},
        {"id": "how", "description": "", "actions": [
            {"id": "not", "description": "", "dependencies": {"require_none": ["hit"]}},
            {"id": "hard", "description": "", "dependencies": {"require_all": ["hit"]}},
            {"id": "soft", "description": "", "dependencies": {"require_any": ["hit"]}}]},
        {"id": "eat", "description": "", "actions": [
            {"id": "no", "description": ""}, {"id": "yes", "description": ""}]},
    ],
    "observations": [{"id": f"o{i}", "description": "", "partial": i < 2, "constant": i == 4} for i in range(5)],
}  # fmt: skip
LINEAR = {"_initial_value": 0.8, "_final_value": 0.2, "_change_over_time_steps": 200, "_round_value": True,
          "_round_digits": 1}  # fmt: skip


def depends_small(h, c, actions):
    return h != 1 or (actions[0] == 1) == (c > 0)


def contract_objects(contract):
    heads = [
        Obj("Action", "pvp_ml.env.contract", id=h["id"], description=h["description"], actions=[
            Obj("Choice", "pvp_ml.env.contract", id=c["id"], description=c["description"],
                dependencies=Obj("Needs", "pvp_ml.env.contract", **{
                    k: c.get("dependencies", {}).get(k, []) for k in ("require_all", "require_any", "require_none")}))
            for c in h["actions"]])
        for h in contract["actions"]
    ]  # fmt: skip
    features = [Obj("Observation", "pvp_ml.env.contract", id=o["id"], description=o["description"],
                    partial=o.get("partial", False), constant=o.get("constant", False))
                for o in contract["observations"]]  # fmt: skip
    return Obj("Meta", "pvp_ml.env.contract", actions=heads, observations=features)


def content(contract=SMALL, frames=1, privileged=True, seed=0, chained=True, normalised=True, **shape):
    """The top-level dict of an old file, and the facts that a test compares with."""
    rng = np.random.default_rng(seed)
    own = len(contract["observations"])
    hidden = sum(o.get("partial", False) for o in contract["observations"]) if privileged else 0
    heads = [len(h["actions"]) for h in contract["actions"]]
    tensors = network(rng, own, hidden, frames, heads, chained=chained, **shape)
    mean = rng.normal(0, 1, own + hidden).astype(np.float32)
    var = rng.uniform(0.2, 2, own + hidden).astype(np.float32)
    params = Obj("PolicyParams", max_sequence_length=frames, actor_input_size=own, critic_input_size=own + hidden,
                 action_head_sizes=heads, feature_extractor_config={}, share_feature_extractor=False,
                 actor_config=mlp(shape.get("trunk", (16,))), critic_config=mlp(shape.get("critic", (12, 12))),
                 action_head_configs=[mlp(shape.get("head", (8,)))] * len(heads), action_dependencies={},
                 autoregressive_actions=chained, append_future_action_masks=False,
                 normalize_autoregressive_actions=normalised)  # fmt: skip
    statistics = Obj("RunningStats", "pvp_ml.ppo.stats", shape=(own + hidden,), mean=mean, var=var, count=540160.0,
                     epsilon=1e-8, clip_upper=5.0, clip_lower=-5.0)  # fmt: skip
    environment = {"env_name": "NhEnv", "stack_frames": [0, 2][:frames] if frames > 1 else 1,
                   "reward": Obj("ConstantSchedule", "pvp_ml.util.schedule", _value=0.25),
                   "share": Obj("LinearSchedule", "pvp_ml.util.schedule", **LINEAR),
                   "past": Obj("ExpressionSchedule", "pvp_ml.util.schedule", _expression="1 - a",
                               _substitutions={"a": Obj("LinearSchedule", "pvp_ml.util.schedule", **LINEAR)},
                               _defaults={}),
                   "reset_params": {"randomizeGear": True}}  # fmt: skip
    data = {"env_kwargs": environment, "env_meta": contract_objects(contract),
            "stats": {"eval/win": Scalar(0.5), "n": Scalar(7, "i8", "<q")},
            "past_self_play_league": Obj("League", "pvp_ml.league", qualities={"main-1": 0.5}),
            "past-self-play-envs_elo": Obj("Elo", "pvp_ml.league", ratings={"main-1": 1000.0},
                                           frozen_ratings={"main-1"})}  # fmt: skip
    meta = Obj("Meta", running_observation_stats=statistics, normalized_observations=True, trained_steps=270080,
               trained_rollouts=211, num_updates=4200, custom_data=data)  # fmt: skip
    extension = {"name": "winrate", "params": {"classifier_state": Ordered({
        "model.0.weight": np.ones((2, own * frames), np.float32), "model.0.bias": np.zeros(2, np.float32)})},
        "type": Raw(name("pvp_ml.ppo.extension", "WinRate"))}  # fmt: skip
    top = {"policy": tensors, "policy_params": params, "meta": meta, "extensions": [extension]}
    return top, {"tensors": tensors, "mean": mean, "var": var, "own": own, "hidden": hidden, "heads": heads}


def saved(tmp_path, top, file="old.zip"):
    path = tmp_path / file
    path.write_bytes(model_file(top))
    return path


def normal(x, mean, var):
    return np.clip((x - mean) / np.sqrt(var.astype(float) + 1e-8), -5, 5)


def compare(tmp_path, top, facts, depends, frames=1, chained=True, normalised=True, rows=40):
    """The imported policy and the old network, row by row: same greedy actions, log-probabilities and values."""
    imported = convert(read_legacy(saved(tmp_path, top)))
    bundle = imported.bundle
    actor = Actor(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer)
    rng, own, hidden, heads = np.random.default_rng(5), facts["own"], facts["hidden"], facts["heads"]
    obs = rng.normal(0, 2, (rows, frames, own)).astype(np.float32)
    privileged = rng.normal(0, 2, (rows, hidden)).astype(np.float32)
    mask = rng.random((rows, sum(heads))) < 0.8
    out = actor.heads.decision(rows, value=True)
    actor.act(obs.reshape(rows, -1), mask, np.arange(rows, dtype=np.uint64), np.ones(rows, np.bool_), out, privileged)
    for r in range(rows):
        # acting: what is hidden is unknown, and the old trainer then fed zeros
        blind = [np.concatenate([obs[r, f], np.zeros(hidden)]) for f in range(frames)]
        flat = np.concatenate([normal(x, facts["mean"], facts["var"]) for x in blind])
        actions, joint, _, _ = forward(
            facts["tensors"], flat, heads, mask[r], depends, frames * own, chained, normalised
        )
        assert out.actions[r].tolist() == actions
        assert out.log_prob[r] == pytest.approx(joint, abs=2e-4)
        seen = [np.concatenate([obs[r, f], privileged[r] if f == 0 else np.zeros(hidden)]) for f in range(frames)]
        flat = np.concatenate([normal(x, facts["mean"], facts["var"]) for x in seen])
        wanted = forward(facts["tensors"], flat, heads, mask[r], depends, frames * own, chained, normalised)[2]
        assert out.value[r] == pytest.approx(wanted, abs=2e-4)
    return imported


@pytest.mark.parametrize("privileged", [True, False])
@pytest.mark.parametrize("frames", [1, 2])
def test_an_imported_policy_plays_as_the_old_network(tmp_path, frames, privileged):
    top, facts = content(frames=frames, privileged=privileged)
    imported = compare(tmp_path, top, facts, depends_small, frames)
    is_flat = frames > 1 and privileged
    assert imported.report["actor_input_layout"] == ("flat-prefix" if is_flat else "per-frame")
    assert any("flat-prefix" in note for note in imported.notes) == is_flat
    assert imported.bundle.metadata.game == "remote"


def test_other_shapes_are_imported(tmp_path):
    compare(tmp_path, *content(seed=1, chained=False), depends_small, chained=False)
    compare(tmp_path, *content(seed=2, trunk=(9, 7), head=(), critic=(5,)), depends_small)
    compare(tmp_path, *content(seed=3, normalised=False), depends_small, normalised=False)


def test_an_nh_model_becomes_an_nh_bundle(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    contract = json.loads((CONTRACTS / "NhEnv.json").read_bytes())
    top, _ = content(contract, frames=2, trunk=(64,), head=(64,), critic=(64, 64))
    del top["policy"]["actor.action_count"]
    top["policy"]["actor.action_count"] = np.array([1.0], np.float32)
    saved(tmp_path, top)
    assert cli.run(["model", "import", "old.zip"]) == 0
    assert "flat-prefix" in capsys.readouterr().out
    bundle = read_bundle(tmp_path / "models/old.zip")
    nh = registry.find("nh")
    assert bundle.interface.digest == nh.spec(nh.config()).interface_digest
    assert bundle.network.frames == (0, 2) and bundle.metadata.training.steps == 270080
    weights = sum(a.size for n, a in top["policy"].items() if "action_" not in n)
    assert weights == 128_302  # the size of the inspected third-party file
    report = json.loads((tmp_path / "models/old.import.json").read_text())
    assert report["trained"] == {"steps": 270080, "rollouts": 211, "updates": 4200}
    assert report["league"]["past_self_play_league"] == {"qualities": {"main-1": 0.5}}
    assert report["league"]["past-self-play-envs_elo"]["frozen_ratings"] == ["main-1"]
    assert cli.run(["model", "import", "old.zip"]) == 2
    assert "exists" in capsys.readouterr().err


def test_schedules_and_contract_are_converted(tmp_path):
    top, _ = content()
    model = read_legacy(saved(tmp_path, top))
    linear = {"type": "linear", "initial_value": 0.8, "final_value": 0.2, "change_over_time_steps": 200,
              "round_value": True, "round_digits": 1}  # fmt: skip
    assert model.environment["reward"] == 0.25
    assert model.environment["share"] == linear
    assert model.environment["past"] == {"type": "expression", "expression": "1 - a", "substitutions": {"a": linear}}
    for key in ("reward", "share", "past"):
        Schedule.parse(model.environment[key])
    assert [h.name for h in model.contract.heads] == ["attack", "how", "eat"]
    assert [f.partial for f in model.contract.features] == [True, True, False, False, False]
    assert [(r.choice, r.when) for r in model.contract.heads[1].rules] == [
        ("not", "none"),
        ("hard", "all"),
        ("soft", "any"),
    ]


GOLDEN = os.environ.get("PVP_ML_LEGACY_FILE", "")


@pytest.mark.skipif(not GOLDEN, reason="set PVP_ML_LEGACY_FILE to the inspected third-party file")
def test_golden_values_of_the_inspected_file():
    data = Path(GOLDEN).read_bytes()
    assert hashlib.sha256(data).hexdigest() == "a32b0a9e7aa1429ecc6c9d5d82ac4e0ade0c1b911b9b30005d9dc5773aa21bbe"
    model = read_legacy(Path(GOLDEN))
    assert (model.steps, model.rollouts, model.updates, model.layout) == (270080, 211, 4200, "flat-prefix")
    assert model.count == pytest.approx(540160, rel=1e-6)
    heads, every = [4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6], np.ones(45, bool)
    kinds = {1: 3, 2: 2, 3: 1}

    def depends(h, c, a):
        if h in kinds:
            return (a[0] == kinds[h]) == (c > 0)
        return (a[0] == 0) == (c > 0) if h == 8 else (a[9] == 3) == (c > 0) if h == 10 else True

    for flat, actions, joint, value, first in (
        (np.zeros(538), [3, 2, 0, 0, 1, 0, 0, 0, 0, 3, 1, 2], -8.42245, -0.02562, [0.24520, 0.24473, 0.25358, 0.25650]),
        (np.sin(np.arange(538)), [3, 2, 0, 0, 1, 0, 0, 1, 0, 3, 1, 2], -7.30846, -0.01901,
         [0.18650, 0.20227, 0.27693, 0.33430]),
    ):  # fmt: skip
        got = forward(model.policy, flat, heads, every, depends, 352)
        assert got[0] == actions
        assert got[1] == pytest.approx(joint, abs=1e-4) and got[2] == pytest.approx(value, abs=1e-4)
        assert got[3] == pytest.approx(first, abs=1e-4)
    convert(model)


def good_files():
    top, _ = content()
    writer = Writer()
    data = writer.dump(top)
    files = {"data.pkl": data, "byteorder": b"little", "version": b"3\n"}
    return files | {f"data/{key}": raw for key, raw in writer.storages.items()}


def with_pickle(data):
    return write_zip({**good_files(), "data.pkl": data})


def calling(module, attribute, argument=b"X\x02\x00\x00\x00id\x85"):
    return b"\x80\x02" + name(module, attribute) + argument + b"R."


def changed(change, **settings):
    top, _ = content(**settings)
    change(top)
    return model_file(top)


def set_state(path, value):
    def change(top):
        here = top
        for key in path[:-1]:
            here = here.state[key] if isinstance(here, Obj) else here[key]
        if isinstance(here, Obj):
            here.state[path[-1]] = value
        else:
            here[path[-1]] = value

    return change


def tampered(find, put):
    data = write_zip(good_files())
    assert find in data
    return data.replace(find, put, 1)


def deflated():
    import io

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in good_files().items():
            archive.writestr(f"top/{file}", data)
    return out.getvalue()


def duplicate():
    import io

    out = io.BytesIO()
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(out, "w") as archive:
        for file in ("version", "data.pkl", "data.pkl"):
            archive.writestr(f"top/{file}", good_files()[file])
    return out.getvalue()


def mentions(module, attribute):
    return with_pickle(calling(module, attribute))


BAD_GLOBALS = [
    ("os", "system"), ("posix", "system"), ("nt", "system"), ("subprocess", "Popen"), ("builtins", "eval"),
    ("__builtin__", "exec"), ("builtins", "getattr"), ("builtins", "__import__"), ("importlib", "import_module"),
    ("sys", "exit"), ("socket", "socket"), ("shutil", "rmtree"), ("pickle", "loads"), ("torch", "load"),
    ("torch.hub", "load"), ("numpy", "load"), ("numpy.core.multiarray", "_reconstruct"), ("codecs", "decode"),
    ("functools", "partial"), ("operator", "attrgetter"), ("webbrowser", "open"), ("ctypes", "CDLL"),
    ("runpy", "run_path"), ("pvp_ml", "x"), ("pvp_ml.cli", "run.__globals__"), ("pvp_mlx.a", "B"), ("torch", "Tensor"),
    ("collections", "deque"),
]  # fmt: skip

HOSTILE = {
    **{f"mentions {m}.{a}": (lambda m=m, a=a: mentions(m, a)) for m, a in BAD_GLOBALS},
    "empty": lambda: b"",
    "not a zip": lambda: b"hello" * 100,
    "cut short": lambda: write_zip(good_files())[:-40],
    "bytes after the end": lambda: write_zip(good_files()) + b"x",
    "deflated": deflated,
    "duplicate": duplicate,
    "no pickle": lambda: write_zip({k: v for k, v in good_files().items() if k != "data.pkl"}),
    "parent path": lambda: write_zip({**good_files(), "../evil": b"x"}),
    "absolute path": lambda: write_zip(good_files(), "/etc"),
    "parent folder": lambda: write_zip(good_files(), ".."),
    "extra file": lambda: write_zip({**good_files(), "code/model.py": b"import os"}),
    "second pickle": lambda: write_zip({**good_files(), "constants.pkl": b"x"}),
    "backslash": lambda: write_zip({**good_files(), "data\\0": b"x"}),
    "big endian": lambda: write_zip({**good_files(), "byteorder": b"big"}),
    "other version": lambda: write_zip({**good_files(), "version": b"9"}),
    "wrong checksum": lambda: tampered(b"policy_params", b"policy_parama"),
    "storage too short": lambda: write_zip({**good_files(), "data/3": b"1234"}),
    "storage missing": lambda: write_zip({k: v for k, v in good_files().items() if k != "data/5"}),
    "bytes after stop": lambda: with_pickle(good_files()["data.pkl"] + b"N."),
    "no stop": lambda: with_pickle(good_files()["data.pkl"][:-1]),
    "protocol 4": lambda: with_pickle(b"\x80\x04" + good_files()["data.pkl"][2:]),
    "opcode inst": lambda: with_pickle(b"\x80\x02(X\x02\x00\x00\x00idios\nsystem\n."),
    "opcode obj": lambda: with_pickle(b"\x80\x02(" + name("pvp_ml.a", "B") + b"o."),
    "opcode ext": lambda: with_pickle(b"\x80\x02\x82\x01."),
    "stack global": lambda: with_pickle(b"\x80\x02X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93."),
    "text persistent id": lambda: with_pickle(b"\x80\x02P1\n."),
    "persistent id of another kind": lambda: with_pickle(b"\x80\x02" + text("module") + b"Q."),
    "unknown memo": lambda: with_pickle(b"\x80\x02h\x07."),
    "empty stack": lambda: with_pickle(b"\x80\x02R."),
    "no mark": lambda: with_pickle(b"\x80\x02Nt."),
    "endless work": lambda: with_pickle(b"\x80\x02" + b"N" * 450_000 + b"."),
    "marks": lambda: with_pickle(b"\x80\x02" + b"(" * 450_000 + b"."),
    "huge text length": lambda: with_pickle(b"\x80\x02X\xff\xff\xff\xff."),
    "big pickle": lambda: with_pickle(b"\x80\x02" + text("x" * (5 << 20)) + b"."),
    "huge number": lambda: with_pickle(b"\x80\x02\x8a\xff" + b"1" * 255 + b"."),
    "state of a number": lambda: with_pickle(b"\x80\x02K\x01}b."),
    "call of a text": lambda: with_pickle(b"\x80\x02" + text("eval") + b")R."),
    "a list for the file": lambda: with_pickle(b"\x80\x02]."),
    "unknown key": lambda: changed(lambda top: top.update(hook="x")),
    "policy is a list": lambda: changed(lambda top: top.update(policy=[])),
    "params are a dict": lambda: changed(lambda top: top.update(policy_params={})),
    "no head sizes": lambda: changed(set_state(("policy_params", "action_head_sizes"), [])),
    "negative head": lambda: changed(set_state(("policy_params", "action_head_sizes"), [2, -3, 2])),
    "other heads": lambda: changed(set_state(("policy_params", "action_head_sizes"), [2, 4, 2])),
    "giant input": lambda: changed(set_state(("policy_params", "actor_input_size"), 1 << 30)),
    "tanh": lambda: changed(
        set_state(("policy_params", "actor_config"), {"layers": [{"size": 16, "activation": "tanh"}]})
    ),
    "more layers than tensors": lambda: changed(set_state(("policy_params", "actor_config"), mlp((16, 16)))),
    "fewer layers than tensors": lambda: changed(set_state(("policy_params", "critic_config"), mlp((12,)))),
    "feature extractor": lambda: changed(set_state(("policy_params", "feature_extractor_config"), mlp((4,)))),
    "future masks": lambda: changed(set_state(("policy_params", "append_future_action_masks"), True)),
    "unnormalised": lambda: changed(set_state(("meta", "normalized_observations"), False)),
    "no contract": lambda: changed(set_state(("meta", "custom_data", "env_meta"), None)),
    "frames": lambda: changed(set_state(("meta", "custom_data", "env_kwargs", "stack_frames"), [0, 3])),
    "unknown extension": lambda: changed(lambda top: top.update(extensions=[{"name": "shell"}])),
    "foreign tensor": lambda: changed(lambda top: top["policy"].update({"actor.extra": np.zeros(1, np.float32)})),
    "not a number": lambda: changed(
        lambda top: top["policy"].update({"critic.head.bias": np.array([np.nan], np.float32)})
    ),
    "double tensor": lambda: changed(lambda top: top["policy"].update({"critic.head.bias": np.zeros(1)})),
    "wrong shape": lambda: changed(lambda top: top["policy"].update({"critic.head.bias": np.zeros(2, np.float32)})),
    "negative variance": lambda: changed(
        set_state(("meta", "running_observation_stats", "var"), np.full(7, -1, np.float32))
    ),
    "short statistics": lambda: changed(
        set_state(("meta", "running_observation_stats", "mean"), np.zeros(3, np.float32))
    ),
    "expanded tensor": lambda: changed(
        lambda top: top["policy"].update(
            {"critic.head.bias": Raw(name("torch._utils", "_rebuild_tensor_v2") + b"((" + text("storage")
             + name("torch", "FloatStorage") + text("0") + text("cpu") + b"K\x01tQK\x00J" + struct.pack("<i", 1 << 30)
             + b"\x85K\x00\x85\x89}tR")}
        )
    ),
}  # fmt: skip


def test_there_are_enough_hostile_files():
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize("which", HOSTILE, ids=lambda w: w.replace(" ", "-"))
def test_a_hostile_file_is_refused_by_name(tmp_path, which):
    path = tmp_path / "old.zip"
    path.write_bytes(HOSTILE[which]())
    before = set(sys.modules)
    tracemalloc.start()
    try:
        with pytest.raises(UserError) as caught:
            convert(read_legacy(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.message
    assert peak < 64 << 20
    assert not {m for m in set(sys.modules) - before if not m.startswith(("pvp_ml", "pydantic", "numpy"))}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old.zip"]


def test_refusals_name_the_thing(tmp_path):
    path = tmp_path / "old.zip"
    for which, words in (
        ("mentions os.system", "os.system"), ("tanh", "tanh"), ("foreign tensor", "actor.extra"),
        ("extra file", "code/model.py"), ("storage too short", "storage 3"), ("unknown key", "hook"),
    ):  # fmt: skip
        path.write_bytes(HOSTILE[which]())
        with pytest.raises(LegacyError, match=words):
            convert(read_legacy(path))


def test_reading_imports_neither_pickle_nor_torch(tmp_path):
    top, _ = content()
    saved(tmp_path, top)
    code = (
        "import sys; from pathlib import Path; from pvp_ml.compat.old_model import read_legacy; "
        f"read_legacy(Path({str(tmp_path / 'old.zip')!r})); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    for path in (Path(__file__).parents[2] / "src/pvp_ml/compat").glob("*.py"):
        assert "import pickle" not in path.read_text()
