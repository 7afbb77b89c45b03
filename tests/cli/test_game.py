import json
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from pvp_ml import cli
from pvp_ml.games import registry
from pvp_ml.games.tooling import Tooling
from pvp_ml.games.toys.kuhn import GAME as KUHN
from pvp_ml.games.toys.kuhn import KuhnGame


class Lying(KuhnGame):
    """Everybody wins."""

    def step(self, actions, out):
        super().step(actions, out)
        out.result[out.ended] = 1


LYING = replace(KUHN, name="lying", build=lambda c, m: Lying(KUHN.spec(c), m))
NEEDY = replace(KUHN, name="needy", tooling=Tooling(setup=lambda tell: tell("fetching [cards]")))


@pytest.fixture
def extra_games(monkeypatch):
    here = {
        "lying": EntryPoint("lying", f"{__name__}:LYING", registry.GROUP),
        "needy": EntryPoint("needy", f"{__name__}:NEEDY", registry.GROUP),
        "broken": EntryPoint("broken", "no_such_package:GAME", registry.GROUP),
    }
    entries = {**registry._entries(), **here}
    monkeypatch.setattr(registry, "_entries", lambda: entries)
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


def run(capsys, *words):
    code = cli.run(["game", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list_names_every_game_once_and_a_broken_package_does_not_hide_the_others(capsys, extra_games):
    code, out, _ = run(capsys, "list", "--json")
    rows = json.loads(out)["games"]
    names = [row["name"] for row in rows]
    assert code == 0
    assert len(set(names)) == len(names)
    assert {"connect4", "kuhn", "matching_pennies", "rock_paper_scissors", "probe", "gym"} <= set(names)
    assert "does not load" in next(row["error"] for row in rows if row["name"] == "broken")
    assert next(row["aliases"] for row in rows if row["name"] == "kuhn") == ["kuhn_poker"]
    code, out, _ = run(capsys, "list")
    assert "biased_rock_paper_scissors" in out
    assert "no_such_package" in out


def test_show_prints_sizes_settings_and_digests(capsys):
    code, out, _ = run(capsys, "show", "connect4")
    assert code == 0
    for words in ("84: own 42 × 1", "1 with 7 choices", "random, tactician", "seat 0 against seat 1", "step cap   64"):
        assert words in out
    out = run(capsys, "show", "probe", "--set", "kind=memory", "--set", "gap=9")[1]
    assert "kind=memory, masked=True, gap=9" in out


def test_show_lists_features_and_actions(capsys):
    out = run(capsys, "show", "kuhn", "--features")[1]
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["0", "1", "2", "3", "4", "5", "—", "—", "—"]
    out = run(capsys, "show", "probe", "--set", "kind=dependent_heads", "--actions")[1]
    assert "none of verb.give" in out
    assert out.count("all of verb.give") == 2


def test_show_as_json_is_the_spec(capsys):
    from pvp_ml.spec import GameSpec

    data = json.loads(run(capsys, "show", "kuhn", "--json")[1])
    assert GameSpec.from_json(data["spec"]) == KUHN.spec(KUHN.config())
    assert data["game_digest"] == KUHN.spec(KUHN.config()).game_digest


def test_check_tells_each_promise_and_the_exit_code_tells_the_verdict(capsys, extra_games):
    code, out, _ = run(capsys, "check", "kuhn")
    assert code == 0
    assert out.count("✓") >= 18
    assert "kuhn keeps its promises" in out
    code, out, _ = run(capsys, "check", "lying")
    assert code == 1
    assert "✗ results agree with teams" in out
    code, out, _ = run(capsys, "check", "lying", "--only", "results agree with teams", "--json")
    assert code == 1
    assert [c["outcome"] for c in json.loads(out)["checks"]] == ["broken"]


def test_setup_reports_what_it_does(capsys, extra_games):
    assert run(capsys, "setup", "kuhn")[1] == "kuhn needs no setup\n"
    assert run(capsys, "setup", "needy")[1] == "fetching [cards]\nkuhn is ready\n".replace("kuhn", "needy")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "conect4"], "there is no game 'conect4' — did you mean 'connect4'?"),
        (["show", "probe", "--set", "gap"], "'gap' is not a setting — write --set KEY=VALUE"),
        (["show", "probe", "--set", "knd=x"], "game 'probe' has no setting 'knd' — did you mean 'kind'?"),
        (["check", "probe", "--set", "gap=0"], "setting 'gap': Input should be greater than or equal to 1 — got 0"),
        (["check", "kuhn", "--only", "x"], "there is no promise 'x'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(capsys, words, says):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_help_imports_neither_numpy_nor_games():
    words = (
        "import sys; from pvp_ml.cli import game; "
        "print([m for m in ('numpy', 'numba', 'torch', 'pvp_ml.games') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
