"""Old model files that were crafted to crash or to hang the importer: each is refused, quickly, and nothing dies."""

import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "compat"))

from legacy_writer import Obj, Raw, Writer, model_file, name, text, write_zip

from pvp_ml.compat.old_model import read_legacy
from pvp_ml.compat.old_pickle import read_pickle
from pvp_ml.compat.old_values import LegacyError

PARAMS = Obj("PolicyParams", max_sequence_length=1, actor_input_size=1, critic_input_size=1, action_head_sizes=[2])
CHOICES = [{"id": "a", "description": ""}, {"id": "b", "description": ""}]
SMALL = {
    "actions": [{"id": "head", "description": "", "actions": CHOICES}],
    "observations": [{"id": "o", "description": ""}],
}
IMPORT = """
import sys
from pathlib import Path
from pvp_ml.compat.old_model import read_legacy
read_legacy(Path(sys.argv[1]))
"""


def nested(depth):
    """( ( ( … ) ) )."""
    return b")" + b"\x85" * depth


def put(at):
    return b"r" + struct.pack("<I", at)


def get(at):
    return b"j" + struct.pack("<I", at)


def dtype_of(value):
    return name("numpy", "dtype") + value + b"K\x00K\x01\x87R"


CRASHES = {
    "a dtype called by a nested tuple": dtype_of(nested(300_000)),
    "a nested tuple for a key": b"}" + nested(300_000) + b"Ns",
    "a nested tuple for a storage": b"(" + nested(300_000) + b"NNNNtQ",
    "a nested tuple for a storage's key": b"(" + text("storage") + name("torch", "FloatStorage") + nested(300_000)
    + text("cpu") + b"K\x01tQ",
    "a nested list for a size": b"(" + text("storage") + name("torch", "FloatStorage") + text("0") + text("cpu")
    + b"]" * 200_000 + b"a" * 199_999 + b"tQ",
    "a nested tuple as state": name("pvp_ml.a", "B") + b")\x81" + nested(300_000) + b"b",
    "a nested tuple at the top": nested(300_000),
}  # fmt: skip


@pytest.mark.parametrize("which", CRASHES, ids=lambda w: w.replace(" ", "-"))
def test_nesting_does_not_end_the_process(tmp_path, which):
    (tmp_path / "old.zip").write_bytes(write_zip({"data.pkl": b"\x80\x02" + CRASHES[which] + b".", "version": b"3"}))
    done = subprocess.run([sys.executable, "-c", IMPORT, str(tmp_path / "old.zip")], capture_output=True, text=True)
    assert done.returncode == 1, "an exception, not a signal"
    assert done.stderr.rstrip().splitlines()[-1].startswith("pvp_ml.compat.old_values.LegacyError: "), done.stderr[
        -400:
    ]


SLOW = {
    "a small graph that is a huge tree": b"\x80\x02(" + b"]q\x00"
    + b"".join(b"(" + (b"h" + bytes([i])) * 8 + b"tq" + bytes([i + 1]) for i in range(24)) + b"t.",
    "a list inside itself": b"\x80\x02]q\x00h\x00a.",
    "an object whose state is itself": b"\x80\x02" + name("pvp_ml.a", "B") + b")\x81q\x00}" + text("x") + b"h\x00sb.",
    "the same wide state, set again and again": b"\x80\x02" + name("pvp_ml.a", "B") + b")\x81q\x01}q\x00("
    + b"".join(text(str(i)) + b"N" for i in range(50_000)) + b"ub" + b"h\x00b" * 140_000 + b".",
    "a long text, many times": b"\x80\x02" + text("x" * 1_000_000) + b"q\x00(" + b"h\x00" * 100_000 + b"t\x86.",
    "more memos than any model has": b"\x80\x02N" + b"".join(put(i) for i in range(200_000)) + b".",
}  # fmt: skip


@pytest.mark.parametrize("which", SLOW, ids=lambda w: w.replace(" ", "-"))
def test_a_small_file_does_not_take_long(which):
    began = time.process_time()
    with pytest.raises(LegacyError):
        read_pickle(SLOW[which])
    assert time.process_time() - began < 2.0


def test_views_of_one_storage_are_counted_each(tmp_path):
    """A thousand names for one storage would be read and copied a thousand times."""
    count = b"J" + struct.pack("<i", 1 << 20)
    storage = b"(" + text("storage") + name("torch", "FloatStorage") + text("0") + text("cpu") + count + b"tQq\x00"
    rest = b"K\x00" + count + b"\x85K\x01\x85\x89" + name("collections", "OrderedDict") + b")RtR"
    start = name("torch._utils", "_rebuild_tensor_v2") + b"("
    views = b"".join(text(f"actor.t{i}") + start + (b"h\x00" if i else storage) + rest for i in range(1000))
    meta = Obj("Meta", running_observation_stats=Obj("RunningStats"), custom_data={"env_meta": SMALL})
    data = Writer().dump({"policy": Raw(b"}(" + views + b"u"), "policy_params": PARAMS, "meta": meta})
    (tmp_path / "old.zip").write_bytes(write_zip({"data.pkl": data, "data/0": bytes(4 << 20), "version": b"3"}))
    with pytest.raises(LegacyError, match="policy holds more than 67108864 numbers"):
        read_legacy(tmp_path / "old.zip")


ODD = {
    "actions is a number": {"actions": 5, "observations": []},
    "a head is a number": {"actions": [5], "observations": []},
    "choices are a number": {"actions": [{"id": "a", "actions": 5}], "observations": []},
    "needs are a list": {"actions": [{"id": "a", "actions": [{"id": "b", "dependencies": [1]}]}], "observations": []},
}  # fmt: skip


@pytest.mark.parametrize("which", ODD, ids=lambda w: w.replace(" ", "-"))
def test_an_odd_contract_is_named(tmp_path, which):
    statistics = Obj("RunningStats", mean=None)
    meta = Obj("Meta", running_observation_stats=statistics, custom_data={"env_meta": ODD[which], 7: "an odd key"})
    (tmp_path / "old.zip").write_bytes(model_file({"policy": {}, "policy_params": PARAMS, "meta": meta}))
    with pytest.raises(LegacyError):
        read_legacy(tmp_path / "old.zip")
