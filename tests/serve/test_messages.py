"""Every field of the inference protocol over a real socket, by a client written from its table alone."""

import json
import socket

import numpy as np
import pytest
from served_duel import MASKS, NETWORKS, OBS, SPEC, bundle_of, running

from pvp_ml.model.bundle import write_bundle
from pvp_ml.players import actor_of

SIX = {"action", "logProb", "entropy", "values", "probs", "extensionResults"}


class Wire:
    """Newline-framed JSON over one socket, as any language would do it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 120)
        self.file = self.socket.makefile("rwb")

    def send(self, *messages):
        for message in messages:
            self.file.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.file.flush()

    def read(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def ask(self, message):
        self.send(message)
        return self.read()

    def close(self):
        self.file.close()
        self.socket.close()


@pytest.fixture
def wire(server):
    wire = Wire(server.ports[0])
    yield wire
    wire.close()


def request(model="plain", frames=1, **fields):
    return {"model": model, "obs": [OBS] * frames, "actionMasks": MASKS, **fields}


def legal(action):
    style, weapon, eat, aim = action
    assert weapon == 0 or style == 1
    assert not (eat == 1 and style == 1) and not (eat == 0 and style == 2)
    assert not (aim == 0 and style == 2)


def test_the_answer_has_six_keys_and_a_legal_action(wire):
    answer = wire.ask(request())
    assert set(answer) == SIX
    legal(answer["action"])
    assert [answer[k] for k in ("logProb", "entropy", "values", "probs", "extensionResults")] == [None] * 4 + [[]]


def test_everything_that_can_be_returned(wire):
    answer = wire.ask(
        request(returnLogProb=True, returnEntropy=True, returnValue=True, returnProbs=True, deterministic=True)
    )
    probs = answer["probs"]
    assert [len(p) for p in probs] == [3, 2, 2, 2]
    assert [sum(p) for p in probs] == pytest.approx([1.0] * 4)
    chosen = [p[a] for p, a in zip(probs, answer["action"], strict=True)]
    assert answer["logProb"] == pytest.approx(sum(np.log(chosen)), abs=1e-5)
    entropy = [-sum(x * np.log(x) for x in p if x > 0) for p in probs]
    assert answer["entropy"] == pytest.approx(entropy, abs=1e-6)
    assert chosen == [max(p) for p in probs]
    actor = actor_of(bundle_of(NETWORKS["plain"], 0))
    assert answer["values"] == pytest.approx([float(actor.evaluate(np.array([OBS], np.float32))[0][0])], abs=1e-6)


def test_greedy_is_what_the_policy_prefers_and_samples_vary(wire):
    actor = actor_of(bundle_of(NETWORKS["plain"], 0))
    out = actor.heads.decision(1)
    mask = np.ones((1, SPEC.mask_size), bool)
    actor.act(np.array([OBS], np.float32), mask, np.zeros(1, np.uint64), np.ones(1, bool), out)
    assert wire.ask(request(deterministic=True))["action"] == out.actions[0].tolist()
    wire.send(*[request() for _ in range(60)])
    seen = {tuple(wire.read()["action"]) for _ in range(60)}
    assert len(seen) > 2
    for action in seen:
        legal(action)


def test_sampled_actions_follow_the_probabilities(wire):
    probs = wire.ask(request(returnProbs=True))["probs"][0]
    counts = np.zeros(3)
    for _ in range(50):
        wire.send(*[request() for _ in range(40)])
        for _ in range(40):
            counts[wire.read()["action"][0]] += 1
    assert counts / 2000 == pytest.approx(probs, abs=0.045)  # 4 standard deviations


def test_deterministic_per_head(wire):
    flags = [True, False, True, False]
    answers = [wire.ask(request("deep", 2, deterministic=flags, returnProbs=True)) for _ in range(40)]
    for answer in answers:
        for head in (0, 2):
            assert answer["probs"][head][answer["action"][head]] == max(answer["probs"][head])
    assert len({a["action"][3] for a in answers}) == 2 or max(answers[0]["probs"][3]) > 0.9


@pytest.mark.parametrize("model", NETWORKS)
def test_probabilities_are_conditioned_on_the_earlier_picks(wire, model):
    """Greedy picks have the greatest log-probability head by head, and the joint one is their product."""
    frames = len(NETWORKS[model].frames)
    answer = wire.ask(request(model, frames, deterministic=True, returnProbs=True, returnLogProb=True))
    product = np.prod([p[a] for p, a in zip(answer["probs"], answer["action"], strict=True)])
    assert np.exp(answer["logProb"]) == pytest.approx(product, rel=1e-4)
    plain = wire.ask(request(model, frames, deterministic=True))
    assert plain["action"] == answer["action"] or model == "recalls"  # a memory has moved on


def test_winrate_extension(wire):
    (result,) = wire.ask(request("deep", 2, extensions=["winrate"]))["extensionResults"]
    assert result["WIN"][0] + result["LOSE"][0] == pytest.approx(1.0)
    actor = actor_of(bundle_of(NETWORKS["deep"], 1))
    assert result["WIN"][0] == pytest.approx(float(actor.evaluate(np.array([OBS + OBS], np.float32))[1][0]), abs=1e-6)
    twice = wire.ask(request("deep", 2, extensions=["winrate", "winrate"]))["extensionResults"]
    assert len(twice) == 2


def test_memory_belongs_to_the_connection_and_can_be_reset(wire, server):
    ask = request("recalls", deterministic=True, returnProbs=True)
    first, second = wire.ask(ask)["probs"], wire.ask(ask)["probs"]
    assert first != second
    other = Wire(server.ports[0])
    assert other.ask(ask)["probs"] == first
    other.close()
    assert wire.ask({**ask, "reset": True})["probs"] == first


def test_ids_are_echoed_in_order_and_requests_may_overtake_nothing(wire):
    ids = [7, "seven", -1, 2**40]
    wire.send(*[request(["plain", "deep"][i % 2], 1 + i % 2, id=n) for i, n in enumerate(ids)])
    assert [wire.read()["id"] for _ in ids] == ids


def test_500_pipelined_requests_are_all_answered_in_order(wire):
    wire.send(*[request(id=i) for i in range(500)])
    assert [wire.read()["id"] for _ in range(500)] == list(range(500))


def test_the_short_form(tmp_path):
    write_bundle(tmp_path / "only.zip", bundle_of(NETWORKS["plain"]))
    with running(models_dir=tmp_path) as server:
        wire = Wire(server.ports[0])
        answer = wire.ask({"obs": [OBS], "actionMasks": MASKS, "deterministic": True})
        assert set(answer) == {"action"}
        assert set(wire.ask({"obs": [OBS], "actionMasks": MASKS, "id": 3})) == {"action", "id"}
        wire.close()


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        (request("nobody"), "unknown_model", "'nobody'"),
        ({"obs": [OBS], "actionMasks": MASKS}, "bad_request", "'model' is missing"),
        ({"model": "plain", "actionMasks": MASKS}, "bad_request", "obs"),
        (request(frames=2), "bad_obs", "reads 1 frame(s), obs has 2"),
        (request("deep"), "bad_obs", "reads 2 frame(s), obs has 1"),
        ({**request(), "obs": [OBS[:-1]]}, "bad_obs", "5 features, frame 0 of obs has 4"),
        ({**request(), "obs": []}, "bad_obs", "obs has 0"),
        ({**request(), "obs": [[0, 0, 0, 0, 9]]}, "bad_obs", "'tile'"),
        ({**request(), "obs": [[0, 0, 0, 0, 1.5]]}, "bad_obs", "'tile'"),
        ({**request(), "obs": [[0, 0, 0, 0, -1]]}, "bad_obs", "'tile'"),
        ({**request(), "obs": [[1e300, 0, 0, 0, 0]]}, "bad_obs", "too large"),
        ({**request(), "obs": [["a", 0, 0, 0, 0]]}, "bad_request", "$.obs[0][0]"),
        ({**request(), "actionMasks": MASKS[:3]}, "bad_mask", "4 heads, actionMasks has 3"),
        ({**request(), "actionMasks": [[True]] * 4}, "bad_mask", "head 'style' expects 3 flags, got 1"),
        ({**request(), "actionMasks": [[False] * 3, *MASKS[1:]]}, "bad_mask", "'style' has no legal choice"),
        ({**request(), "actionMasks": [[True, False, False], [False, True], *MASKS[2:]]}, "bad_mask", "rules leave"),
        (request(deterministic=[True]), "bad_request", "1 flags for 4 heads"),
        (request(extensions=["winrate"]), "unsupported", "'winrate'"),
        (request("deep", 2, extensions=["x"]), "unsupported", "'x'"),
        (request("deep", 2, extensions=["winrate"] * 9), "bad_request", "the limit is 8"),
        (request(retrunProbs=True), "bad_request", "retrunProbs"),
        (b'{"model":"plain","obs":[[NaN,0,0,0,0]],"actionMasks":[]}\n', "bad_json", ""),
        (b"rubbish\n", "bad_json", ""),
        (b"[1,2]\n", "bad_request", ""),
        (b"\xff\xfe\n", "bad_json", ""),
        (b"[" * 50_000 + b"\n", "bad_request", ""),
        (b'{"obs":' + b"[" * 50_000 + b"\n", "bad_request", ""),
        (b'{"a":' * 50_000 + b"\n", "bad_request", ""),
        (request(id="x" * 200), "bad_request", "200 characters"),
        (request(id=[1]), "bad_request", "id"),
    ],
)
def test_bad_input_gets_a_stable_code_and_the_connection_lives(wire, message, code, words):
    answer = wire.ask(message)
    assert set(answer) == {"error"} and set(answer["error"]) == {"code", "message"}
    assert answer["error"]["code"] == code
    assert words in answer["error"]["message"]
    assert set(wire.ask(request())) == SIX


def test_errors_echo_the_id(wire):
    assert wire.ask(request("nobody", id="q")) == {
        "error": {"code": "unknown_model", "message": "there is no model 'nobody'; GET /v1/models lists them"},
        "id": "q",
    }
    assert wire.ask(b'{"id": 12, "obs": nonsense\n')["id"] == 12


def test_rules_that_leave_nothing_fail_that_row_alone(wire):
    bad = {**request(id=1), "actionMasks": [[True, False, False], [False, True], *MASKS[2:]]}
    wire.send(request(id=0), bad, request(id=2), {**bad, "returnProbs": True, "id": 3})
    answers = {a["id"]: a for a in (wire.read() for _ in range(4))}
    assert answers[1]["error"]["code"] == answers[3]["error"]["code"] == "bad_mask"
    assert "action" in answers[0] and "action" in answers[2]


def test_a_message_over_the_limit_ends_the_connection_with_a_reason(server):
    wire = Wire(server.ports[0])
    wire.send(b"x" * (1 << 20), b"y" * 100)
    assert wire.read()["error"]["code"] == "too_large"
    assert wire.read() is None
    wire.close()


def test_http_on_the_line_port_is_shown_out(server):
    wire = Wire(server.ports[0])
    wire.send(b"POST /v1/predict HTTP/1.1\r\nHost: x\r\n\r\n" + json.dumps(request()).encode() + b"\n")
    assert wire.read()["error"]["code"] == "bad_json"
    assert wire.read() is None
    wire.close()


def test_a_client_that_has_said_everything_still_gets_its_answers(server):
    wire = Wire(server.ports[0])
    wire.send(*[request(id=i) for i in range(300)])
    wire.socket.shutdown(socket.SHUT_WR)
    assert [wire.read()["id"] for _ in range(300)] == list(range(300))
    assert wire.read() is None
    wire.close()


def test_float_values_for_clients_of_old(models_dir):
    with running(models_dir=models_dir, float_values=True) as server:
        wire = Wire(server.ports[0])
        assert isinstance(wire.ask(request(returnValue=True))["values"], float)
        wire.close()


def test_plugins_choose_and_nothing_else(models_dir, monkeypatch):
    from pvp_ml import players
    from pvp_ml.games import registry

    class Game:
        @staticmethod
        def config():
            return None

        @staticmethod
        def spec(_):
            return SPEC

    monkeypatch.setattr(registry, "find", lambda name: Game if name == "duel" else pytest.fail(name))
    monkeypatch.setattr(players, "_entries", players._entries)
    with running(models_dir=models_dir, plugins=("random", "noop")) as server:
        wire = Wire(server.ports[0])
        assert wire.ask(request("noop"))["action"] == [0, 0, 0, 0]
        assert wire.ask(request("noop", frames=3))["action"] == [0, 0, 0, 0]
        wire.send(*[request("random") for _ in range(40)])
        answers = [wire.read() for _ in range(40)]
        assert all(set(a) == SIX for a in answers)
        assert len({tuple(a["action"]) for a in answers}) > 5
        assert wire.ask(request("noop", returnProbs=True))["error"]["code"] == "unsupported"
        wire.close()
