import yaml

from pvp_ml.cli import run


def test_show_prints_what_a_run_would_use(capsys):
    assert run(["config", "show", "--preset", "toys/kuhn", "--learning-rate", "0.5", "--num-envs", "7"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert (shown["env"]["name"], shown["env"]["matches"], shown["ppo"]["learning_rate"]) == ("kuhn", 7, 0.5)


def test_diff_lists_only_what_differs(capsys):
    assert run(["config", "diff", "toys/kuhn", "toys/connect4"]) == 1
    shown = capsys.readouterr().out
    assert "env.name" in shown
    assert "run.seed" not in shown
    assert run(["config", "diff", "toys/kuhn", "config/toys/kuhn.yml"]) == 0
    assert "are the same" in capsys.readouterr().out


def test_list_and_options(capsys):
    assert run(["config", "list"]) == 0
    assert "toys/connect4" in capsys.readouterr().out
    assert run(["config", "options", "--game", "rock_paper_scissors"]) == 0
    shown = capsys.readouterr().out
    assert "--ppo.learning-rate, --learning-rate, --lr  schedule, default 0.0003" in shown
    assert "--env.rounds" in shown
