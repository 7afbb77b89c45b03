"""What clients, files and signals may do to a server: nothing to the others."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from served_duel import MASKS, NETWORKS, OBS, PATIENT, bundle_of, running
from served_process import ASK, LINE

from pvp_ml.errors import UserError
from pvp_ml.model import bundle as bundles
from pvp_ml.model.archive import read_directory, read_entry, write_archive
from pvp_ml.model.bundle import pack_bundle, read_bundle, write_bundle
from pvp_ml.serve.quota import GRACE_S, Quota, WrongTokens
from pvp_ml.serve.wire import find_id

TOKEN = "correct horse battery staple"


def ask(port, request=None, timeout=120):
    """One request over a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(json.dumps(request or ASK).encode() + b"\n")
        return json.loads(connection.makefile("rb").readline())


def get(port, path, timeout=120, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def without_vocabulary():
    """A bundle whose id feature has no vocabulary; everything else about it is right."""
    import io

    file = io.BytesIO(pack_bundle(bundle_of(NETWORKS["plain"])))
    files = {name: read_entry(file, entry, 1 << 26) for name, entry in read_directory(file, bundles.MEMBERS).items()}
    metadata = json.loads(files[bundles.METADATA])
    metadata["interface"]["blocks"][1]["features"][0]["vocab"] = None
    return write_archive({**files, bundles.METADATA: json.dumps(metadata).encode()})


def test_an_id_without_vocabulary_is_refused():
    with pytest.raises(UserError, match=r"'tile'.*'id'"):
        read_bundle(without_vocabulary())


def test_a_bad_model_stops_neither_the_others_nor_the_sweeper(tmp_path, caplog):
    write_bundle(tmp_path / "plain.zip", bundle_of(NETWORKS["plain"]))
    (tmp_path / "bad.zip").write_bytes(without_vocabulary())
    with running(models_dir=tmp_path, reload_s=0.2) as server:
        assert "'bad' cannot be used and is skipped" in caplog.text
        (tmp_path / "worse.zip").write_bytes(without_vocabulary())
        wait_for(lambda: "the new version of 'worse' cannot be used" in caplog.text)
        write_bundle(tmp_path / "late.zip", bundle_of(NETWORKS["plain"], 5))
        wait_for(lambda: "late" in server.engine.models)
        assert "action" in ask(server.ports[0], {**ASK, "model": "late"})


def test_a_sweeper_that_stumbles_goes_on(tmp_path, caplog, monkeypatch):
    write_bundle(tmp_path / "plain.zip", bundle_of(NETWORKS["plain"]))
    from pvp_ml.serve.server import LoadedModels

    original = LoadedModels.refresh
    calls = []

    async def refresh(self):
        calls.append(1)
        if len(calls) == 1:
            raise ZeroDivisionError
        await original(self)

    monkeypatch.setattr(LoadedModels, "refresh", refresh)
    with running(models_dir=tmp_path, reload_s=0.1) as server:
        wait_for(lambda: len(calls) > 2)
        assert "trying again" in caplog.text
        shutil.copy(tmp_path / "plain.zip", tmp_path / "second.zip")
        wait_for(lambda: "second" in server.engine.models)


def wait_for(condition, seconds=15.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.05)


def test_a_model_that_fails_while_it_is_built_is_skipped(tmp_path, caplog, monkeypatch):
    """Whatever a file of a folder does to the code that builds it, the others are served."""
    from pvp_ml.serve.models import PolicyModel

    for name in ("bad", "plain"):
        write_bundle(tmp_path / f"{name}.zip", bundle_of(NETWORKS["plain"]))
    original = PolicyModel.warm_up
    monkeypatch.setattr(PolicyModel, "warm_up", lambda self: 1 / 0 if self.name == "bad" else original(self))
    with running(models_dir=tmp_path) as server:
        assert "'bad' cannot be used and is skipped: ZeroDivisionError" in caplog.text
        assert "action" in ask(server.ports[0])
    with pytest.raises(UserError, match="model 'bad' cannot be used"), running(models=(tmp_path / "bad.zip",)):
        pass


HANDSHAKE = (
    b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (HANDSHAKE + b"Sec-WebSocket-Extensions: \xff\r\n\r\n", b"400"),
        (HANDSHAKE + b"Sec-WebSocket-Protocol: \xfe\r\n\r\n", b"400"),
        (HANDSHAKE.replace(b"GET", b"POST") + b"Content-Length: 1\r\n\r\nx", b"405"),
        (HANDSHAKE + b"\r\n", b"101"),
    ],
)
def test_odd_handshakes_have_a_status(server, head, status):
    with socket.create_connection(("127.0.0.1", server.ports[1]), 120) as connection:
        connection.sendall(head)
        assert connection.recv(200).split()[1] == status


def test_half_sent_bodies_shut_nobody_out(models_dir):
    """A client that has not finished its first request has not settled, however long its head was."""
    with running(models_dir=models_dir, limits=replace(PATIENT, side_connections=8)) as server:
        held = []
        for _ in range(8):
            connection = socket.create_connection(("127.0.0.1", server.ports[1]), 120)
            connection.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{")
            held.append(connection)
        time.sleep(GRACE_S + 0.1)
        assert get(server.ports[1], "/v1/models") == 200
        for connection in held:
            connection.close()


def half_heads(port, count):
    found = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), 120)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-")
        found.append(connection)
    return found


def test_280_half_sent_heads_shut_nobody_out(models_dir):
    with running(models_dir=models_dir) as server:
        line, side = server.ports
        held = half_heads(side, 280)
        try:
            assert "action" in ask(line), "the line port has places of its own"
            assert get(side, "/healthz") == 200, "health is answered when all places are taken"
            time.sleep(GRACE_S + 0.2)
            assert get(side, "/v1/models") == 200, "the oldest of them makes room"
        finally:
            for connection in held:
                connection.close()


def test_a_head_that_is_never_finished_is_ended(models_dir):
    from dataclasses import replace

    with running(models_dir=models_dir, limits=replace(PATIENT, line_s=0.5)) as server:
        (held,) = half_heads(server.ports[1], 1)
        began = time.monotonic()
        assert held.recv(10) == b""
        assert time.monotonic() - began < 5.0
        held.close()
        kept = http.client.HTTPConnection("127.0.0.1", server.ports[1], timeout=120)
        kept.request("GET", "/healthz")
        kept.getresponse().read()
        time.sleep(0.8)  # silence between two requests is allowed for longer
        kept.request("GET", "/healthz")
        assert kept.getresponse().status == 200
        kept.close()


def test_strangers_do_not_take_the_places_of_those_with_a_token(models_dir):
    from dataclasses import replace

    limits = replace(PATIENT, connections=8)
    with running(models_dir=models_dir, token=TOKEN, limits=limits) as server:
        silent = [socket.create_connection(("127.0.0.1", server.ports[0]), 120) for _ in range(8)]
        time.sleep(GRACE_S + 0.2)
        known = []
        for _ in range(6):
            connection = socket.create_connection(("127.0.0.1", server.ports[0]), 120)
            connection.sendall(json.dumps({**ASK, "token": TOKEN}).encode() + b"\n")
            assert b"action" in connection.makefile("rb").readline()
            known.append(connection)
        for connection in (*silent, *known):
            connection.close()


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(models_dir):
    with running(models_dir=models_dir, token=TOKEN) as server:
        line, side = server.ports
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", line), 120) as guesser:
            for i in range(6):
                guesser.sendall(json.dumps({**ASK, "token": f"guess number {i}"}).encode() + b"\n")
            for _ in range(3):
                assert "action" in ask(line, {**ASK, "token": TOKEN})
            guesser.setblocking(False)
            early = b""
            with contextlib.suppress(BlockingIOError):
                early = guesser.recv(100_000, socket.MSG_PEEK)
            assert early.count(b"\n") < 6, "whoever knows it is not delayed by guesses"
            guesser.setblocking(True)
            answers = guesser.makefile("rb")
            for _ in range(6):
                assert json.loads(answers.readline())["error"]["code"] == "unauthorized"
        assert time.monotonic() - began > 1.1
        began = time.monotonic()
        assert [get(side, "/metrics", Authorization="Bearer wrong") for _ in range(3)] == [401] * 3
        assert time.monotonic() - began > 0.55


def test_the_pace_of_wrong_tokens():
    now = 0.0
    wrong = WrongTokens(lambda: now, 0.2)
    assert [round(wrong.delay("a"), 3) for _ in range(3)] == [0.2, 0.4, 0.6]
    assert wrong.delay("b") == 0.2
    now = 10.0
    assert round(wrong.delay("a"), 3) == 0.2


def test_a_quota_gives_the_place_of_the_oldest_newcomer():
    now, sent_away = 0.0, []
    quota = Quota(3, 2, lambda: now)
    assert quota.enter("a", lambda: sent_away.append("a"))
    assert quota.enter("b", lambda: sent_away.append("b"))
    assert not quota.enter("c", lambda: None), "two newcomers, both just came"
    now = GRACE_S
    quota.settle("a")
    assert quota.enter("c", lambda: sent_away.append("c"))
    assert quota.enter("d", lambda: sent_away.append("d")), "b makes room"
    assert sent_away == ["b"]
    assert len(quota) == 3
    quota.leave("a")
    quota.leave("b")
    assert len(quota) == 2


@pytest.mark.parametrize(
    ("line", "identifier"),
    [
        (b'{"id": 1234567890123456789, "typo": 1}', 1234567890123456789),
        (b'{"id": 18446744073709551615, "typo": 1}', 18446744073709551615),
        (b'{"id": 1.5, "typo": 1}', 1.5),
        (b'{"id": "a\\"b\\u00fc", "typo": 1}', 'a"b\u00fc'),
        (b'{"obs": {"id": 7}, "id": 8}', 8),
        (b'{"model": "\\"id\\": 3", "typo": 1}', None),
        (b'{"id": 1234567890123456789, "obs": [[', 1234567890123456789),
        (b'{"id": 1.5, "obs": [[', 1.5),
        (b'{"id": "a\\"b", "obs": [[', 'a"b'),
        (b'{"id": 99999999999999999999999, "typo": 1}', None),
        (b'{"id": [1], "typo": 1}', None),
    ],
)
def test_errors_carry_the_id_that_was_sent(server, line, identifier):
    assert find_id(line) == identifier
    with socket.create_connection(("127.0.0.1", server.ports[0]), 120) as connection:
        connection.sendall(line + b"\n")
        answer = json.loads(connection.makefile("rb").readline())
    assert "error" in answer
    assert answer.get("id") == identifier


SLOW = """
import asyncio, sys, time
from pathlib import Path
from pvp_ml.serve.limits import Limits
from pvp_ml.serve import server as s
original = s.Server.__aenter__
async def enter(self):
    made = await original(self)
    model = self.engine.models["plain"]
    run = model.run
    def slow(tasks):
        time.sleep(0.02 * len(tasks))
        return run(tasks)
    model.run = slow
    return made
s.Server.__aenter__ = enter
limits = Limits(deadline_s=30.0, wait_s=30.0)
asyncio.run(s.serve_until_stopped(s.ServeConfig(models_dir=Path(sys.argv[1]), port=0, side_port=0, limits=limits),
                                  lambda ports: print(*ports, flush=True)))
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGTERM")
def test_sigterm_answers_what_was_accepted(models_dir):
    child = subprocess.Popen([sys.executable, "-c", SLOW, str(models_dir)], stdout=subprocess.PIPE, text=True)
    line, side = map(int, child.stdout.readline().split())
    connections = [socket.create_connection(("127.0.0.1", line), 120) for _ in range(4)]
    body = json.dumps({"model": "plain", "obs": [OBS], "actionMasks": MASKS})
    post = http.client.HTTPConnection("127.0.0.1", side, timeout=120)
    post.request("POST", "/v1/predict", body)
    for connection in connections:
        connection.sendall(LINE * 8)
    time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    for connection in connections:
        answers = connection.makefile("rb").read().splitlines()
        assert len(answers) == 8
        assert all(b"action" in answer for answer in answers)
        connection.close()
    assert post.getresponse().status == 200
    post.close()
    assert child.wait(120) == 0
    child.stdout.close()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", line), 1)
