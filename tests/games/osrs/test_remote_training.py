"""Training through the protocol, and through the death of the server."""

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from remote_playing import serving

from pvp_ml import cli

pytest.importorskip("torch")
SMALL = ["--env.matches", "8", "--ppo.n-steps", "16", "--ppo.batch-size", "64", "--run.shards", "1", "--eval.matches",
         "2", "--tracking.view", "off", "--tracking.tensorboard", "false"]  # fmt: skip


def metrics(tmp_path, name):
    lines = (tmp_path / f"experiments/{name}/metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_iterations_of_quick_through_the_protocol(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with serving() as server:
        code = cli.run(["train", "--preset", "nh/quick", "--name", "here", "--env.remote", f"127.0.0.1:{server.port}",
                        "--run.total-steps", "256", "--eval.opponents", "[nh-bot]",
                        "--self-play.opponents", "{self: 1, nh-bot: 0}", *SMALL])  # fmt: skip
        assert server.world.ticks >= 256
    assert code == 0
    rows = metrics(tmp_path, "here")
    assert [row["rollouts"] for row in rows][:2] == [1, 2]
    assert rows[0]["reward/damage_dealt"] == pytest.approx(rows[0]["reward/damage_received"])


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_run_goes_on_when_its_server_is_killed(tmp_path, monkeypatch):
    """`nh/quick` on a server that the run starts; the server is killed once and started again."""
    monkeypatch.chdir(tmp_path)
    port = free_port()
    (tmp_path / "server.sh").write_text(f'echo $$ >> pids\nexec "{sys.executable}" -m pvp_ml sim-server\n')
    killed = []

    def kill():
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            time.sleep(0.1)
            rows = tmp_path / "experiments/through/metrics.jsonl"
            if rows.is_file() and rows.read_text().count("\n") >= 1:
                killed.append(int((tmp_path / "pids").read_text().split()[0]))
                os.kill(killed[0], signal.SIGKILL)
                return

    thread = threading.Thread(target=kill)
    thread.start()
    code = cli.run(["train", "--preset", "nh/quick", "--name", "through", "--env.remote", f"127.0.0.1:{port}",
                    "--env.remote-command", "sh server.sh", "--run.total-steps", "1536", *SMALL])  # fmt: skip
    thread.join()
    assert code == 0
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert killed and pids.count(killed[0]) == 1 and len(pids) >= 2
    rows = metrics(tmp_path, "through")
    assert len(rows) >= 4
    assert (tmp_path / "experiments/through/model.zip").is_file()
    for pid in pids:
        place = Path(f"/proc/{pid}/stat")
        assert not place.exists() or place.read_text().split()[2] == "Z"
