"""The side port: health, metrics, POST, WebSocket, and who may use it."""

import base64
import hashlib
import http.client
import json
import os
import re
import socket
import struct

import pytest
from served_duel import MASKS, OBS, running

REQUEST = {"model": "plain", "obs": [OBS], "actionMasks": MASKS}
TOKEN = "correct horse battery staple"


def fetch(port, method, path, body=None, headers=None):
    """(status, body) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request(method, path, None if body is None else json.dumps(body), headers or {})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, json.loads(data) if data.startswith(b"{") else data.decode()


def raw(port, data):
    """Whatever comes back for these bytes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), 120) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(4096), b""))


def accept_key(key):
    magic = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return base64.b64encode(hashlib.sha1(key.encode() + magic).digest()).decode()


def unmask(payload, mask):
    return bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


class WebSocket:
    """The client's side, by hand."""

    def __init__(self, port, path="/v1/stream", **headers):
        self.socket = socket.create_connection(("127.0.0.1", port), 120)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *(f"{k}: {v}" for k, v in headers.items())]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        self.status = int(head.split()[1])
        self.is_accepted = accept_key(key).encode() in head

    def send(self, payload, kind=1, final=True):
        size, mask = len(payload), b"abcd"
        head = bytes([(0x80 if final else 0) | kind])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += b"\xfe" + struct.pack("!H", size)
        else:
            head += b"\xff" + struct.pack("!Q", size)
        self.socket.sendall(head + mask + unmask(payload, mask))

    def read(self):
        first, second = self.exactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self.exactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self.exactly(8))
        return first & 0x0F, self.exactly(size)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            assert piece, "closed"
            data += piece
        return data

    def ask(self, message):
        self.send(json.dumps(message).encode())
        kind, data = self.read()
        assert kind == 1
        return json.loads(data)


def test_health_readiness_models_and_metrics(server):
    port = server.ports[1]
    assert fetch(port, "GET", "/healthz") == (200, "ok\n")
    assert fetch(port, "GET", "/readyz") == (200, "ok\n")
    assert fetch(port, "GET", "/v1/models") == (200, {"models": ["deep", "plain", "recalls", "secret"]})
    before = fetch(port, "GET", "/metrics")[1]
    fetch(port, "POST", "/v1/predict", REQUEST)
    after = fetch(port, "GET", "/metrics")[1]

    def answered(text):
        return int(next(line for line in text.splitlines() if 'code="ok"' in line).split()[1])

    assert answered(after) == answered(before) + 1
    assert "pvp_ml_models 4" in after and 'pvp_ml_latency_seconds_bucket{le="+Inf"}' in after


def test_predict_answers_the_same_message(server):
    status, answer = fetch(server.ports[1], "POST", "/v1/predict", {**REQUEST, "returnProbs": True, "id": 4})
    assert status == 200 and len(answer["action"]) == 4 and len(answer["probs"]) == 4 and answer["id"] == 4


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"model": "nobody"}, 404, "unknown_model"),
        ({"obs": [[1]]}, 400, "bad_obs"),
        ({"actionMasks": []}, 400, "bad_mask"),
        ({"extensions": ["winrate"]}, 422, "unsupported"),
        ({"typo": 1}, 400, "bad_request"),
    ],
)
def test_errors_have_a_status_and_a_code(server, change, status, code):
    assert fetch(server.ports[1], "POST", "/v1/predict", {**REQUEST, **change})[0] == status
    assert fetch(server.ports[1], "POST", "/v1/predict", {**REQUEST, **change})[1]["error"]["code"] == code


def test_a_model_says_how_it_wants_to_be_asked(server):
    status, facts = fetch(server.ports[1], "GET", "/v1/models/deep")
    assert status == 200
    assert facts["frames"] == 2
    tile = facts["features"][4]
    assert (tile["name"], tile["kind"], tile["min"]) == ("tile", "id", 0)
    assert facts["heads"][0]["name"] == "style"
    assert "returnProbs" in facts["gives"]
    status, answer = fetch(server.ports[1], "POST", "/v1/predict", facts["request"])
    assert status == 200, "the request can be sent as it is"
    assert len(answer["action"]) == len(facts["heads"])
    assert fetch(server.ports[1], "GET", "/v1/models/nobody")[0] == 404
    assert fetch(server.ports[1], "POST", "/v1/models/deep")[0] == 405


def test_masks_may_be_numbers(server):
    numbers = [[int(flag) for flag in head] for head in MASKS]
    greedy = {**REQUEST, "deterministic": True}
    same = fetch(server.ports[1], "POST", "/v1/predict", greedy)
    assert fetch(server.ports[1], "POST", "/v1/predict", {**greedy, "actionMasks": numbers}) == same
    status, answer = fetch(server.ports[1], "POST", "/v1/predict", {**greedy, "actionMasks": [[2], *numbers[1:]]})
    assert (status, answer["error"]["code"]) == (400, "bad_request")


def test_a_value_that_needs_hidden_facts_is_null(server):
    status, answer = fetch(server.ports[1], "POST", "/v1/predict", {**REQUEST, "model": "secret", "returnValue": True})
    assert (status, answer["values"]) == (200, None)
    assert answer["action"]


def test_a_connection_serves_many_requests(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.ports[1], timeout=120)
    for _ in range(5):
        connection.request("POST", "/v1/predict", json.dumps(REQUEST))
        assert connection.getresponse().read().startswith(b'{"action"')
    connection.close()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", b"404"),
        (b"GET /v1/predict HTTP/1.1\r\nHost: localhost\r\n\r\n", b"405"),
        (b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\n\r\n", b"411"),
        (b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nbroken\r\n\r\n", b"400"),
        (b"rubbish\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", b"431"),
        (b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"403"),  # DNS rebinding
        (b"GET /healthz HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: [\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost:99999\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", b"200"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: http://[\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: rubbish\r\n\r\n", b"400"),
        (b"DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"405"),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", b"403"),
    ],
)
def test_odd_requests_get_a_status_and_no_more(server, data, status):
    answer = raw(server.ports[1], data)
    assert answer.split()[1] == status
    assert b"Traceback" not in answer


def test_websocket_messages(server):
    ws = WebSocket(server.ports[1])
    assert ws.status == 101 and ws.is_accepted
    assert len(ws.ask(REQUEST)["action"]) == 4
    assert ws.ask({**REQUEST, "model": "nobody"})["error"]["code"] == "unknown_model"
    # a memory lives as long as the connection
    ask = {**REQUEST, "model": "recalls", "returnProbs": True, "deterministic": True}
    assert ws.ask(ask)["probs"] != ws.ask(ask)["probs"]
    text = json.dumps(REQUEST).encode()
    ws.send(text[:20], final=False)
    ws.send(b"hello", kind=9)  # a ping between fragments
    ws.send(text[20:], kind=0)
    assert ws.read() == (10, b"hello")
    assert b"action" in ws.read()[1]
    ws.send(b"", kind=8)
    assert ws.read()[0] == 8
    ws.socket.close()


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([(b"x" * 10, 2, True)], 1003),
        ([(b"x", 0, True)], 1002),
        ([(b"x", 1, False), (b"y", 1, True)], 1002),
        ([(b"x", 5, True)], 1002),
        ([(b"x" * 126, 9, True)], 1002),
        ([(b"x" * (1 << 20), 1, False), (b"y" * 10, 0, True)], 1009),
    ],
)
def test_broken_websocket_frames_end_it_with_the_right_code(server, frames, code):
    ws = WebSocket(server.ports[1])
    for payload, kind, final in frames:
        ws.send(payload, kind, final)
    kind, data = ws.read()
    assert kind == 8 and struct.unpack("!H", data[:2])[0] == code
    ws.socket.close()


def test_unmasked_frames_are_refused(server):
    ws = WebSocket(server.ports[1])
    ws.socket.sendall(b"\x81\x02hi")
    assert ws.read()[1][:2] == struct.pack("!H", 1002)
    ws.socket.close()


def test_without_models_it_is_alive_but_not_ready(models_dir):
    with running(models_dir=models_dir) as server:
        server.engine.models.clear()
        assert fetch(server.ports[1], "GET", "/healthz")[0] == 200
        assert fetch(server.ports[1], "GET", "/readyz")[0] == 503


def test_a_token_is_needed_everywhere_but_for_health(models_dir):
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with running(models_dir=models_dir, token=TOKEN) as server:
        port = server.ports[1]
        assert fetch(port, "GET", "/healthz")[0] == 200
        for path in ("/metrics", "/v1/models"):
            assert fetch(port, "GET", path)[0] == 401
            assert fetch(port, "GET", path, headers=bearer)[0] == 200
            assert fetch(port, "GET", path, headers={"Authorization": "Bearer wrong"})[0] == 401
        assert fetch(port, "POST", "/v1/predict", REQUEST)[0] == 401
        assert fetch(port, "POST", "/v1/predict", REQUEST, bearer)[0] == 200
        assert fetch(port, "POST", "/v1/predict", {**REQUEST, "token": TOKEN})[0] == 200
        ws = WebSocket(port)
        assert ws.ask(REQUEST)["error"]["code"] == "unauthorized"
        assert "action" in ws.ask({**REQUEST, "token": TOKEN})
        assert "action" in ws.ask(REQUEST)  # once is enough
        ws.socket.close()


def test_an_allowed_origin_may_ask(models_dir):
    with running(models_dir=models_dir, origins=frozenset({"https://good.example"})) as server:
        ask = (server.ports[1], "POST", "/v1/predict", REQUEST)
        assert fetch(*ask, {"Origin": "https://good.example"})[0] == 200
        assert fetch(*ask, {"Origin": "https://good.example.evil"})[0] == 403
        assert fetch(*ask, {"Origin": "null"})[0] == 403


GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def test_a_body_of_a_get_is_read_and_not_taken_for_the_next_request(server):
    smuggled = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = raw(server.ports[1], GET + b"Content-Length: %d\r\n\r\n" % len(smuggled) + smuggled)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"models" not in answer


def test_head_has_the_length_and_no_body(server):
    answer = raw(server.ports[1], b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"Content-Length: 3" in answer
    assert answer.endswith(b"\r\n\r\n")


def test_connection_close_is_obeyed(server):
    with socket.create_connection(("127.0.0.1", server.ports[1]), 120) as connection:
        connection.sendall(GET + b"Connection: close\r\n\r\n")
        data = b"".join(iter(lambda: connection.recv(4096), b""))  # ends because the server closes
    assert data.startswith(b"HTTP/1.1 200")
    assert b"Connection: close" in data


def test_pipelined_requests_are_answered_in_order(server):
    many = GET + b"\r\n" + b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert re.findall(rb"HTTP/1.1 (\d+)", raw(server.ports[1], many)) == [b"200", b"404"]


def test_pings_are_answered_up_to_a_limit(models_dir):
    with running(models_dir=models_dir, token=TOKEN) as server:
        ws = WebSocket(server.ports[1])
        for i in range(16):
            ws.send(str(i).encode(), kind=9)
            assert ws.read() == (10, str(i).encode())
        ws.send(b"once more", kind=9)
        kind, data = ws.read()
        assert kind == 8 and struct.unpack("!H", data[:2])[0] == 1008
        ws.socket.close()
        ws = WebSocket(server.ports[1])
        for _ in range(10):
            ws.send(b"x" * 100, kind=9)
        assert "action" in ws_after_pings(ws, 10)
        ws.socket.close()


def ws_after_pings(ws, count):
    for _ in range(count):
        assert ws.read()[0] == 10
    return ws.ask({**REQUEST, "token": TOKEN})
