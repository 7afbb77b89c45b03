import socket
from types import SimpleNamespace

from pvp_ml.cli import doctor, run
from pvp_ml.errors import pip_install
from pvp_ml.games import tooling
from pvp_ml.games.registry import find


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
        raise tooling.PackageNotFoundError(name)

    monkeypatch.setattr(tooling, "version", missing)
    fixes = [finding.fix for check in (doctor.libraries, doctor.games) for finding in check() if finding.mark == "note"]
    for extra in ("train", "rocket-league", "vgc", "gym"):
        assert pip_install(extra) in fixes


def test_every_thing_of_the_list_is_looked_at(capsys):
    run(["doctor"])
    shown = capsys.readouterr().out
    for word in (
        "Python",
        "torch",
        "OMP_NUM_THREADS",
        "memory",
        "compiled code",
        "Node",
        "meshes",
        "port 6006",
        "GB free",
    ):
        assert word in shown, word


def test_threads_that_slow_down_are_named(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    found = {finding.what: finding.fix for finding in doctor.processors() if finding.mark == "note"}
    assert found["OMP_NUM_THREADS is 8: processes get in each other's way"] == "unset OMP_NUM_THREADS, or set it to 1"
    assert any(what.startswith("MKL_NUM_THREADS is unset") for what in found)


def test_a_taken_port_is_named_with_a_way_out(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(doctor, "PORTS", ((port, "a thing", "choose another"),))
        assert list(doctor.ports()) == [doctor.Finding("note", f"port {port} (a thing) is taken", "choose another")]
    assert list(doctor.ports()) == [doctor.Finding("ok", f"port {port} (a thing) is free")]


def test_every_finding_that_is_not_fine_has_a_fix(monkeypatch):
    monkeypatch.setattr("pvp_ml.games.vgc.node.install.shutil.which", lambda name: None)
    monkeypatch.setattr("pvp_ml.games.vgc.node.install._wheel_folder", lambda: None)
    monkeypatch.delenv("PVP_ML_NODE", raising=False)
    finding = list(find("vgc").tooling.doctor())[-1]
    assert finding.mark == "note"
    assert pip_install("vgc") in finding.fix
    monkeypatch.setattr(doctor, "_is_writable", lambda folder: False)
    wrong = [f for check in (doctor.compiled_cache, doctor.disk, doctor.games) for f in check() if f.mark != "ok"]
    assert all(finding.fix for finding in wrong)
