"""Recorded conversations of clients of the old API, each line as it travels: a model, the plugins, and mistakes.

A file of `conversations/` has lines `-> request`, `<- answer` and `<- closed`; after `closed` the client opens a new
connection, as the published Java client does. Numbers may differ by rounding, everything else may not.
"""

import json
import logging
import socket
from pathlib import Path

import numpy as np
import pytest
from served_duel import running

from pvp_ml.games import registry
from pvp_ml.model.bundle import make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes

RECORDED = Path(__file__).parent / "conversations"
CLOSED = "closed"


def write_nh_model(path: Path) -> None:
    """A small network with fixed random weights; the shipped models change, a recording must not."""
    kind = registry.find("nh")
    spec, rng = kind.spec(kind.config()), np.random.default_rng(23)
    network = NetworkConfig(trunk=(8,), win_head=True)
    tensors = {n: rng.normal(size=s, scale=0.2).astype(np.float32)
               for n, s in tensor_shapes(network, spec.interface).items()}  # fmt: skip
    statistics = {n: np.ones(s) for n, s in normalizer_shapes(network, spec.interface).items()}
    write_bundle(path, make_bundle(spec, network, tensors, statistics))


@pytest.fixture(scope="module")
def nh_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nh-models")
    write_nh_model(folder / "TestNh.zip")
    return folder


class OldClient:
    """Asks one thing at a time, connects when it has to, and takes a closed stream for an error."""

    def __init__(self, port: int) -> None:
        self._port, self._socket, self._lines = port, None, None

    def ask(self, line: str) -> object:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), 10)
            self._lines = self._socket.makefile("rb")
        self._socket.sendall(line.encode() + b"\n")
        answer = self._lines.readline()
        if answer:
            return json.loads(answer)
        self.close()
        return CLOSED

    def close(self) -> None:
        if self._socket is not None:
            self._lines.close()
            self._socket.close()
        self._socket = None


def exchanges(path: Path):
    """(request line, answer) pairs of a recording."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for ask, answer in zip(lines[::2], lines[1::2], strict=True):
        assert ask[:3] == "-> " and answer[:3] == "<- "
        yield ask[3:], CLOSED if answer[3:] == CLOSED else json.loads(answer[3:])


def same(answer: object, wanted: object) -> bool:
    """Equal but for the last digits of numbers."""
    if isinstance(wanted, dict):
        return (
            isinstance(answer, dict)
            and list(answer) == list(wanted)
            and all(same(answer[k], wanted[k]) for k in wanted)
        )
    if isinstance(wanted, list):
        return isinstance(answer, list) and len(answer) == len(wanted) and all(map(same, answer, wanted))
    if isinstance(wanted, float):
        return isinstance(answer, float) and abs(answer - wanted) <= 1e-5
    return type(answer) is type(wanted) and answer == wanted


@pytest.mark.parametrize(("name", "asks"), [("model", 3), ("plugin", 4), ("error", 9)])
def test_recorded_conversations(nh_folder, name, asks):
    with running(models_dir=nh_folder, closes_on_error=True, side_port=None) as server:
        client, count = OldClient(server.ports[0]), 0
        for line, wanted in exchanges(RECORDED / f"{name}.txt"):
            assert same(client.ask(line), wanted), line[:300]
            count += 1
        client.close()
    assert count == asks


def test_an_error_ends_the_connection_behind_the_answers_that_were_due(nh_folder, caplog):
    """Requests sent ahead: what came before the mistake is answered, what comes after it never is."""
    caplog.set_level(logging.WARNING)
    good = next(iter(exchanges(RECORDED / "plugin.txt")))[0]
    with (
        running(models_dir=nh_folder, closes_on_error=True, side_port=None) as server,
        socket.create_connection(("127.0.0.1", server.ports[0]), 10) as link,
        link.makefile("rb") as lines,
    ):
        link.sendall(f"{good}\n{good}\n{{}}\n{good}\n".encode())
        answers = [json.loads(line) for line in lines]
    assert len(answers) == 2 and all("action" in answer for answer in answers)
    assert any("old protocol" in text and "obs" in text for text in caplog.messages)


def test_plugins_go_with_a_game_and_leave_the_short_form_alone(nh_folder):
    """One model in the folder: it may be left out, although three plugins are served beside it."""
    line, _ = next(iter(exchanges(RECORDED / "model.txt")))
    asked = {key: json.loads(line)[key] for key in ("obs", "actionMasks")}
    with running(models_dir=nh_folder, side_port=None) as server:
        assert sorted(server.engine.models) == ["TestNh", "baseline", "noop", "stayalive"]
        client = OldClient(server.ports[0])
        answer = client.ask(json.dumps({**asked, "deterministic": True}))
        assert (
            list(answer) == ["action"]
            and answer["action"] == next(iter(exchanges(RECORDED / "model.txt")))[1]["action"]
        )
        client.close()


def test_a_file_that_was_named_goes_before_an_unasked_plugin(tmp_path):
    write_nh_model(tmp_path / "baseline.zip")
    with running(models=(tmp_path / "baseline.zip",), side_port=None) as server:
        assert not server.engine.models["baseline"].is_unasked
    with running(models_dir=tmp_path, side_port=None) as server:
        assert server.engine.models["baseline"].is_unasked  # in a folder the plugin wins, as it always did
