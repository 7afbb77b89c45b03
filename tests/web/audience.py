"""Many spectators in one process: `audience.py PORT GAME ROOM COUNT STEPS` prints when each frame came to each of them.

Arrival times are seconds of the monotonic clock, which on Linux is one clock for all processes.
"""

import base64
import json
import os
import re
import selectors
import socket
import struct
import sys
import time

FRAME = re.compile(rb'^\{"type":"frame","step":(\d+),')


class Spectator:
    """Reads whole WebSocket frames and notes the step of each match frame."""

    def __init__(self, port: int, room: str, game: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /ws/{game} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.data += self.socket.recv(65536)
        self.data = self.data.split(b"\r\n\r\n", 1)[1]
        text = json.dumps({"type": "watch", "room": room}).encode()
        self.socket.sendall(struct.pack("!BB4s", 0x81, 0x80 | len(text), b"\0\0\0\0") + text)
        self.socket.setblocking(False)
        self.seen: dict[int, float] = {}
        self.is_over = False

    def read(self) -> None:
        now = time.monotonic()
        data = self.socket.recv(1 << 20)
        self.is_over |= not data
        self.data += data
        while (size := self._size()) is not None:
            head, length = size
            found = FRAME.match(self.data[head : head + 60])
            if found:
                self.seen.setdefault(int(found[1]), now)
            self.is_over |= self.data[head : head + 13] == b'{"type":"end"'
            self.data = self.data[head + length :]

    def _size(self):
        """(header, payload) bytes of the first frame, None while it is not whole."""
        if len(self.data) < 4:
            return None
        head, length = 2, self.data[1] & 0x7F
        if length == 126:
            head, length = 4, struct.unpack("!H", self.data[2:4])[0]
        return (head, length) if len(self.data) >= head + length else None


def main(port: int, game: str, room: str, count: int, steps: int) -> None:
    crowd = [Spectator(port, room, game) for _ in range(count)]
    watch = selectors.DefaultSelector()
    for one in crowd:
        watch.register(one.socket, selectors.EVENT_READ, one)
    print("ready", flush=True)
    while any(max(one.seen, default=0) < steps and not one.is_over for one in crowd):
        for key, _ in watch.select():
            key.data.read()
    print(json.dumps([one.seen for one in crowd]))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
