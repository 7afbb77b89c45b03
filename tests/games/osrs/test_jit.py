"""Where compiled kernels are kept."""

from pathlib import Path

import llvmlite.binding as llvm
import numba

from pvp_ml.games.osrs import jit


def test_cache_folder_carries_the_hash_of_the_sources(monkeypatch, tmp_path):
    monkeypatch.setenv("PVP_ML_CACHE_DIR", str(tmp_path))
    assert jit.cache_dir.__wrapped__() == tmp_path / "kernels" / f"osrs-{jit.source_hash()}"


def test_an_unwritable_cache_folder_is_replaced_by_a_temporary_one(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PVP_ML_CACHE_DIR", str(tmp_path / "file"))
    instead = jit.cache_dir.__wrapped__()
    assert instead.is_dir() and tmp_path not in instead.parents
    instead.rmdir()


def test_a_changed_kernel_changes_the_hash(monkeypatch, tmp_path):
    for path in [*jit.HERE.glob("*.py"), *(jit.HERE / "data").glob("*.json")]:
        copy = tmp_path / path.relative_to(jit.HERE)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(jit, "HERE", Path(tmp_path))
    assert jit.source_hash.__wrapped__() == jit.source_hash()
    (tmp_path / "kernels_combat.py").write_text("# other rules")
    assert jit.source_hash.__wrapped__() != jit.source_hash()


def test_kernels_leave_numbas_own_cache_setting_alone():
    import numba

    before = numba.config.CACHE_DIR
    jit.kernel(lambda x: x)
    assert before == numba.config.CACHE_DIR


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
