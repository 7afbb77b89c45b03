"""Servers that are not what they should be, by name: each answers a request line in its own way, or not at all."""

import contextlib
import json
import socket
import threading
import time

HEADS, FEATURES = (4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6), 176
META = {"damageGeneratedOnTargetScale": 0.0, "damageGeneratedOnPlayerScale": 0.0, "episodeTicks": 0}
PAUSE_S = 0.25


def sight(heads=HEADS, features=FEATURES, number=0.0, meta=META):
    body = {"obs": [number] * features, "actionMasks": [[True] * n for n in heads], "meta": meta}
    return json.dumps({"body": body}).encode() + b"\n"


def after_login(answer):
    """A server that seems right until a fight is asked for."""
    return lambda link, action: link.sendall(b"{}\n" if action in ("login", "logout") else answer)


def drip(link, action):
    """The right answer, so slowly that it would take minutes."""
    for byte in sight():
        link.sendall(bytes([byte]))
        time.sleep(PAUSE_S)


def flood(link, action):
    for _ in range(64):
        link.sendall(b"x" * (1 << 16))


def hang_up(link, action):
    link.shutdown(socket.SHUT_RDWR)


def half_and_away(link, action):
    link.sendall(sight()[:400])
    link.shutdown(socket.SHUT_RDWR)


ODD = {
    "silent": lambda link, action: None,
    "silent after login": lambda link, action: link.sendall(b"{}\n") if action == "login" else None,
    "drips": drip,
    "half a line": lambda link, action: link.sendall(sight()[:400]),
    "half a line and away": half_and_away,
    "hangs up": hang_up,
    "floods": flood,
    "web page": lambda link, action: link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>"),
    "empty lines": lambda link, action: link.sendall(b"\n"),
    "null": after_login(b"null\n"),
    "no body": after_login(b"{}\n"),
    "nested": after_login(b'{"body":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    "nested objects": after_login(b'{"body":' + b'{"obs":' * 50_000 + b"1" + b"}" * 50_000 + b"}\n"),
    "short obs": after_login(sight(features=40)),
    "other heads": after_login(sight(heads=(4, 4, 2, 2, 2, 3))),
    "not a number": after_login(sight(number=float("nan"))),
    "huge numbers": after_login(sight(number=1e300)),
    "no meta": after_login(sight(meta={})),
    "a clock that stands": after_login(sight()),
    "refuses": lambda link, action: link.sendall(b'{"error":true,"message":"java.lang.Oops\\n\\tat a.b(C.java:1)"}\n'),
    "refuses fights": after_login(b'{"error":true,"message":"java.lang.IllegalArgumentException: FOO"}\n'),
    "an odd error": after_login(b'{"error":"yes"}\n'),
    "bytes": after_login(bytes(range(128, 256)) + b"\n"),
}


class OddServer:
    """Listens and behaves like that; with "deaf" nobody even accepts."""

    def __init__(self, kind):
        self._behave, self._links, self._closing = ODD.get(kind), [], False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256 if kind in ODD else 1)
        self.port = self._listener.getsockname()[1]
        if self._behave is not None:
            threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while not self._closing:
                link, _ = self._listener.accept()
                self._links.append(link)
                threading.Thread(target=self._listen, args=(link,), daemon=True).start()

    def _listen(self, link):
        with contextlib.suppress(OSError, ValueError), link, link.makefile("rb") as lines:
            for line in lines:
                self._behave(link, json.loads(line)["action"])

    def close(self):
        self._closing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for link in self._links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)


KINDS = (*ODD, "deaf")
