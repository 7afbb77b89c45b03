"""Starting, reloading, tokens, limits: what the server does besides answering."""

import asyncio
import json
import os
import socket
import threading
import time
from dataclasses import replace

import pytest
from served_duel import MASKS, NETWORKS, OBS, PATIENT, bundle_of, running

from pvp_ml.errors import UserError
from pvp_ml.model.bundle import write_bundle
from pvp_ml.serve.client import AsyncClient, Client, Lost, ServerError
from pvp_ml.serve.engine import Engine
from pvp_ml.serve.limits import Limits, check_exposure, is_loopback
from pvp_ml.serve.models import PolicyModel
from pvp_ml.serve.wire import Request, WireError

TOKEN = "correct horse battery staple"
ASK = {"model": "plain", "obs": [OBS], "actionMasks": MASKS}


def until(condition, seconds=15.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def test_sync_and_async_clients(server):
    with Client(port=server.ports[0]) as client:
        assert client.predict(OBS, MASKS, model="plain", deterministic=True).action
        assert len(client.predict([OBS, OBS], MASKS, model="deep", returnProbs=True).probs) == 4
        with pytest.raises(ServerError, match="unknown_model") as error:
            client.predict(OBS, MASKS, model="nobody")
        assert error.value.code == "unknown_model"

    async def many():
        async with AsyncClient(port=server.ports[0]) as client:
            asks = [client.predict(OBS, MASKS, model="plain", deterministic=True) for _ in range(60)]
            answers = await asyncio.gather(*asks)
            with pytest.raises(ServerError, match="bad_obs"):
                await client.predict([1.0], MASKS, model="plain")
            return answers

    assert len({tuple(a.action) for a in asyncio.run(many())}) == 1


def test_clients_take_numpy_arrays(server):
    import numpy as np

    with Client(port=server.ports[0]) as client:
        masks = [np.array(mask) for mask in MASKS]
        assert client.predict(np.array(OBS, np.float32), masks, model="plain").action
        assert client.predict(np.array([OBS, OBS], np.float32), masks, model="deep").action


def test_a_lost_server_is_one_clear_error_and_the_client_comes_back(models_dir):
    with running(models_dir=models_dir) as server:
        client = Client(port=server.ports[0], timeout_s=2)
        assert client.predict(OBS, MASKS, model="plain").action
        port = server.ports[0]
    with pytest.raises(Lost, match="no answer"):
        client.predict(OBS, MASKS, model="plain")
    with running(models_dir=models_dir, port=port):
        assert client.predict(OBS, MASKS, model="plain").action
        client.close()

    async def lost():
        async with AsyncClient(port=1, timeout_s=1) as other:
            await other.predict(OBS, MASKS)

    with pytest.raises(Lost, match="cannot reach"):
        asyncio.run(lost())


def test_a_changed_file_is_loaded_again_and_a_broken_one_is_not(tmp_path, caplog):
    path = tmp_path / "plain.zip"
    write_bundle(path, bundle_of(NETWORKS["plain"], 0))
    with running(models_dir=tmp_path, reload_s=0.1) as server, Client(port=server.ports[0]) as client:

        def probs():
            return client.predict(OBS, MASKS, model="plain", deterministic=True, returnProbs=True).probs

        first = probs()
        write_bundle(path, bundle_of(NETWORKS["plain"], 9))
        until(lambda: probs() != first)
        second = probs()
        path.write_bytes(b"half a file")
        until(lambda: "cannot be used, still serving the old one" in caplog.text)
        assert probs() == second
        write_bundle(tmp_path / "new.zip", bundle_of(NETWORKS["plain"], 3))
        until(lambda: "new" in server.engine.models)
        path.unlink()
        until(lambda: "plain" not in server.engine.models)
        with pytest.raises(ServerError, match="unknown_model"):
            probs()


def test_nothing_to_serve_is_said_at_once(tmp_path):
    with pytest.raises(UserError, match=r"there is no model in .* --models-dir"), running(models_dir=tmp_path):
        pass
    with pytest.raises(UserError, match="there is no folder"), running(models_dir=tmp_path / "no"):
        pass
    (tmp_path / "bad.zip").write_bytes(b"rubbish")
    with pytest.raises(UserError, match=r"bad\.zip"), running(models=(tmp_path / "bad.zip",)):
        pass


def test_a_port_in_use_is_said_at_once(server, models_dir):
    for ports in ({"port": server.ports[0]}, {"side_port": server.ports[0]}):
        with (
            pytest.raises(UserError, match=f"cannot listen on 127.0.0.1 port {server.ports[0]}: .*use"),
            running(models_dir=models_dir, **ports),
        ):
            pass


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::", "192.168.1.5", "example.org"])
def test_listening_beyond_this_machine_needs_a_token(host, models_dir):
    with pytest.raises(UserError, match="without a token"), running(models_dir=models_dir, host=host):
        pass
    with pytest.raises(UserError, match="at least 16"):
        check_exposure(host, "short")
    check_exposure(host, TOKEN)


def test_what_counts_as_this_machine():
    assert all(map(is_loopback, ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"]))
    assert not any(map(is_loopback, ["", "0.0.0.0", "10.0.0.1", "localhost.evil.example", "127.0.0.1.evil"]))


def test_tokens_on_the_line_port(models_dir):
    with running(models_dir=models_dir, token=TOKEN) as server:
        port = server.ports[0]
        with Client(port=port) as client, pytest.raises(ServerError, match="unauthorized"):
            client.predict(OBS, MASKS, model="plain")
        with Client(port=port, token=TOKEN) as client:
            assert client.predict(OBS, MASKS, model="plain").action
            assert client.predict(OBS, MASKS, model="plain", token="").action  # this connection is known now
        with Client(port=port, token=TOKEN[:-1] + "x") as client, pytest.raises(ServerError, match="unauthorized"):
            client.predict(OBS, MASKS, model="plain")
        with Client(port=port) as client:  # a client of old writes it behind the model's name
            assert client.predict(OBS, MASKS, model=f"plain@{TOKEN}").action
            with pytest.raises(ServerError, match="unknown_model"):
                client.predict(OBS, MASKS, model=f"nobody@{TOKEN}")


def test_one_connection_too_many_is_refused(models_dir):
    with running(models_dir=models_dir, limits=replace(PATIENT, connections=3)) as server:
        clients = [Client(port=server.ports[0]) for _ in range(4)]
        for client in clients[:3]:
            assert client.predict(OBS, MASKS, model="plain").action
        with pytest.raises(ServerError, match="overloaded"):
            clients[3].predict(OBS, MASKS, model="plain")
        clients[0].close()
        until(lambda: len(server.gate.open) < 3)
        clients[3].close()
        assert clients[3].predict(OBS, MASKS, model="plain").action
        for client in clients:
            client.close()


def test_late_lines_and_idle_clients_are_shown_out(models_dir):
    limits = replace(PATIENT, line_s=0.2, idle_s=0.5)
    with running(models_dir=models_dir, limits=limits) as server:
        slow = socket.create_connection(("127.0.0.1", server.ports[0]), 120)
        slow.sendall(b'{"model": "pl')
        assert json.loads(slow.makefile().readline())["error"]["code"] == "timeout"
        idle = socket.create_connection(("127.0.0.1", server.ports[0]), 120)
        assert idle.recv(100) == b""  # no line: it would be taken for the answer to the next question
        with Client(port=server.ports[0]) as client:
            assert client.predict(OBS, MASKS, model="plain").action
            until(lambda: not server.gate.open)
            assert client.predict(OBS, MASKS, model="plain").action  # asked again on a new connection
        for one in (slow, idle):
            one.close()


def test_idle_clients_stay_when_the_server_allows_it(models_dir):
    with (
        running(models_dir=models_dir, limits=replace(PATIENT, idle_s=0.0)) as server,
        Client(port=server.ports[0]) as client,
    ):
        assert client.predict(OBS, MASKS, model="plain").action
        time.sleep(2.2)
        assert len(server.gate.open) == 1


def test_a_client_that_never_reads_does_not_grow_the_server(models_dir):
    limits = replace(PATIENT, unsent_s=0.5)
    with running(models_dir=models_dir, limits=limits) as server:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.ports[0]))
        line = json.dumps({**ASK, "returnProbs": True, "returnEntropy": True}).encode() + b"\n"
        deaf.settimeout(0.5)
        with pytest.raises(OSError):
            for _ in range(200):
                deaf.sendall(line * 200)
        until(lambda: not server.gate.open)
        deaf.close()


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self):
        self.now, self.soon = 0.0, []

    def __call__(self):
        return self.now

    def run(self):
        jobs, self.soon = self.soon, []
        for job in jobs:
            job()


@pytest.fixture
def engine():
    clock = Clock()
    engine = Engine(replace(Limits(), queue=5, batch=4, batch_s=1.0), 1, clock, lambda job: clock.soon.append(job))
    engine.put(PolicyModel("plain", bundle_of(NETWORKS["plain"]), 4))
    engine.clock = clock
    return engine


def submit(engine, answers, **fields):
    engine.submit(Request(**{"obs": [OBS], "actionMasks": MASKS, "model": "plain", **fields}), None, answers.append)


def test_engine_batches_what_waits_up_to_its_limit(engine):
    answers = []
    for i in range(5):
        submit(engine, answers, id=i)
    assert answers == [] and engine.queued == 5
    engine.clock.run()
    assert len(answers) == 4 and engine.queued == 1
    engine.clock.run()
    assert len(answers) == 4, "a round for reading comes between two batches"
    engine.clock.run()
    assert [json.loads(a)["id"] for a in answers] == [0, 1, 2, 3, 4]
    assert (engine.metrics.batches, engine.metrics.rows, engine.metrics.deepest_queue) == (2, 5, 5)
    assert engine.clock.soon == []


def test_engine_rejects_beyond_the_queue(engine):
    answers = []
    for _ in range(5):
        submit(engine, answers)
    assert engine.refuses(b"{}")
    with pytest.raises(WireError, match="5 requests are waiting, 1 ms of work"):
        submit(engine, answers)
    engine.clock.run()
    submit(engine, answers)


def test_engine_rejects_what_would_wait_too_long(engine):
    """Ten milliseconds a request: at 40 ms of patience four may wait, whatever the queue could hold."""
    engine.limits = replace(engine.limits, queue=100, batch=1, wait_s=0.04)
    plain, answers = engine.models["plain"], []

    class Slow:
        name, memory, check = "plain", 0, plain.check

        def run(self, tasks):
            engine.clock.now += 0.01 * len(tasks)
            return plain.run(tasks)

    engine.put(Slow())
    for _ in range(40):  # it learns the pace
        submit(engine, answers, deadlineMs=1e6)
        engine.clock.run()
    accepted = 0
    while not engine.refuses(b"{}"):
        submit(engine, answers)
        accepted += 1
    assert accepted == 5  # four wait, the first of them is next
    with pytest.raises(WireError, match="5 requests are waiting, 50 ms of work"):
        submit(engine, answers)
    assert not engine.refuses(b'{"deadlineMs": 200}')
    submit(engine, answers, deadlineMs=200)  # who says that he has time may wait
    with pytest.raises(WireError, match="6 requests are waiting, 60 ms of work"):
        submit(engine, answers, deadlineMs=100)
    for _ in range(4):
        engine.clock.run()
    submit(engine, answers)


def test_engine_answers_late_requests_with_an_error(engine):
    answers = []
    submit(engine, answers, id=1)
    submit(engine, answers, id=2, deadlineMs=500)
    engine.clock.now = 0.3
    engine.clock.run()
    late, fine = sorted(map(json.loads, answers), key=lambda a: a["id"])
    assert late["error"] == {"code": "deadline", "message": "waited 300 ms"}
    assert "action" in fine


def test_engine_cuts_batches_that_would_take_long(engine):
    model = engine.models["plain"]
    engine._cost[model] = 0.4  # seconds a row; batch_s = 1
    answers = []
    for _ in range(4):
        submit(engine, answers)
    engine.clock.run()
    assert len(answers) == 2


def test_engine_survives_a_model_that_fails(engine, monkeypatch, caplog):
    answers = []
    submit(engine, answers)
    monkeypatch.setattr(engine.models["plain"], "run", lambda tasks: 1 / 0)
    engine.clock.run()
    assert json.loads(answers[0])["error"]["code"] == "internal"
    assert "ZeroDivisionError" in caplog.text and "ZeroDivision" not in answers[0].decode()


def test_engine_lets_waiting_requests_finish_on_the_old_model(engine):
    answers = []
    submit(engine, answers)
    engine.put(PolicyModel("plain", bundle_of(NETWORKS["deep"]), 4))
    engine.clock.run()
    assert "action" in json.loads(answers[0])
    engine.remove("plain")
    with pytest.raises(WireError, match="no model 'plain'"):
        submit(engine, answers)


def test_requests_of_many_clients_share_batches(server):
    metrics = server.engine.metrics
    batches, rows = metrics.batches, metrics.rows
    line = json.dumps({**ASK, "deadlineMs": 10_000}).encode() + b"\n"

    def client():
        with socket.create_connection(("127.0.0.1", server.ports[0]), 120) as connection:
            file = connection.makefile("rwb")
            for _ in range(10):
                file.write(line * 8)
                file.flush()
                for _ in range(8):
                    assert b"action" in file.readline()

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.rows - rows == 640
    assert (metrics.rows - rows) / (metrics.batches - batches) > 4


def test_serving_needs_no_torch():
    import subprocess
    import sys

    code = "import sys, pvp_ml.serve.server, pvp_ml.serve.client, pvp_ml.cli.serve; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.skipif(os.name == "nt", reason="sends SIGTERM")
def test_the_command_serves_and_ends_on_sigterm(models_dir):
    import signal
    import subprocess
    import sys

    old_flags = ["--remote-processor-pool-size", "4", "--remote-processor-type", "process",
                 "--remote-processor-kwargs", '{"max_concurrency": 2}', "--device", "cpu"]  # fmt: skip
    command = [sys.executable, "-m", "pvp_ml", "serve", "--models-dir", str(models_dir), "--port", "0", *old_flags]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    words = child.stdout.readline().split()
    with Client(port=int(words[4].strip(";")), timeout_s=30) as client:
        assert client.predict(OBS, MASKS, model="plain").action
        child.send_signal(signal.SIGTERM)
        assert child.wait(120) == 0
    child.stdout.close()
