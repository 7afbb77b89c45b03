from types import SimpleNamespace

from pvp_ml.cli import doctor, run


def test_a_fit_machine(capsys):
    assert run(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "Python 3." in shown
    assert "torch 2." in shown


def test_a_full_disk_is_bad_and_has_a_fix(monkeypatch, capsys):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=1))
    assert run(["doctor"]) == 1
    assert "free some space" in capsys.readouterr().out


def test_a_missing_extra_names_the_command(monkeypatch):
    def missing(name):
        raise doctor.PackageNotFoundError(name)

    core = {"numpy", "numba", "pydantic", "cyclopts", "rich", "safetensors"}
    monkeypatch.setattr(doctor, "version", lambda name: "1" if name in core else missing(name))
    fixes = [finding.fix for finding in doctor.libraries() if finding.mark == "note"]
    assert "pip install 'pvp-ml[train]'" in fixes
    assert "pip install 'pvp-ml[rocket-league]'" in fixes
