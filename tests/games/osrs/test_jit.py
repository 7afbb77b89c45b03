"""How the fights are compiled."""

import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np

from pvp_ml.compiled.kernel_set import KernelSet
from pvp_ml.games import registry
from pvp_ml.games.osrs.kernels import jit
from pvp_ml.match import External, MatchPlan, StepBuffers


def test_a_changed_kernel_changes_the_folder(monkeypatch, tmp_path):
    key = jit.FIGHTS.key
    for path in [*jit.HERE.glob("*.py"), *jit.HERE.glob("kernels/*.py"), *jit.HERE.glob("data/*.json")]:
        copy = tmp_path / path.relative_to(jit.HERE)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(jit, "HERE", Path(tmp_path))
    assert KernelSet("osrs", jit._sources).key == key
    (tmp_path / "kernels" / "combat.py").write_text("# other rules")
    assert KernelSet("osrs", jit._sources).key != key


def test_a_kernel_is_not_compiled_again_for_every_constant(monkeypatch, tmp_path):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    monkeypatch.setattr(jit, "FIGHTS", KernelSet("osrs", jit._sources))
    inner = jit.kernel(double)
    outer = jit.kernel(lambda x: inner(2) + inner(3) + inner(x))
    assert outer(4) == 18
    assert len(inner.signatures) == 1


def double(x):
    return 2 * x


def test_what_an_entry_calls_is_private_to_it(monkeypatch):
    """A recursive function stays a function, so that its linkage can be seen."""

    @numba.njit
    def count(n):
        return n if n < 2 else count(n - 1) + count(n - 2)

    @numba.njit
    def entry(n):
        return count(n) + 1

    def linkages():
        functions = entry.overloads[entry.signatures[0]].library._final_module.functions
        return {f.linkage for f in functions if "count" in f.name and "osrs" in f.name and not f.is_declaration}

    entry(5)
    assert linkages() == {llvm.Linkage.linkonce_odr}
    monkeypatch.setattr(jit, "ENTRIES", ("test_what_an_entry_calls_is_private_to_it.<locals>.entry",))
    entry.recompile()
    assert entry(5) == 6
    assert linkages() == {llvm.Linkage.internal}


LATER = """
import sys
import numpy as np
from pvp_ml.games import registry
from pvp_ml.match import StepBuffers

game_type = registry.find("nh")
game = game_type.build(registry.configure(game_type, {"max_ticks": 3}), 4)
out = StepBuffers.allocate(game.spec, 4)
game.restore(open(sys.argv[1], "rb").read())
for _ in range(8):
    game.step(np.full((4, 2, 12), -1, np.int32), out)
print(out.serial.tolist(), float(out.obs.sum()))
"""


def test_kernels_work_in_whatever_order_they_are_loaded(tmp_path):
    """A resumed run steps before it starts a match; both ways give the same."""
    kind = registry.find("nh")
    game = kind.build(registry.configure(kind, {"max_ticks": 3}), 4)
    out = StepBuffers.allocate(game.spec, 4)
    game.queue([MatchPlan(i, i, (External("a"), External("b")), game.spec.scenarios[0].name) for i in range(40)])
    game.start(out)
    (tmp_path / "snapshot").write_bytes(game.snapshot())
    for _ in range(8):
        game.step(np.full((4, 2, 12), -1, np.int32), out)
    words = [sys.executable, "-c", LATER, str(tmp_path / "snapshot")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-1000:]
    assert done.stdout.strip() == f"{out.serial.tolist()} {float(out.obs.sum())}"
