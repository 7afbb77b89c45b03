"""The win head beside the policy: it learns who wins, measured on matches that it never learned from."""

from session import Session


def test_held_out_matches_are_predicted_better_than_chance():
    ppo = {"n_steps": 48, "batch_size": 512, "n_epochs": 4, "learning_rate": 2e-3, "win_coef": 1.0, "gamma": 1.0}
    session = Session("connect4", 64, ppo, {"trunk": (64, 64), "win_head": True})
    session.train(24)
    metrics = session.metrics
    session.close()
    assert metrics["win_head/loss"] < 0.685  # a coin gives ln 2 = 0.693
    assert metrics["win_head/held_out_loss"] < 0.69
    assert metrics["win_head/held_out_accuracy"] > 0.53
