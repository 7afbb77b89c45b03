"""A websocket server that does as it is told: to see what a client does when a real one would be too well behaved."""

import contextlib
import queue
import socket
import threading

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Ping, Pong, Request, TextMessage


class FakeServer:
    """`heard` has (connection number, text); `say` goes to the newest connection."""

    def __init__(self):
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self._door.getsockname()[1]}/showdown/websocket"
        self.heard, self.pongs, self.welcomed = queue.Queue(), queue.Queue(), queue.Queue()
        self._links, self.ignores_pings = [], False
        threading.Thread(target=self._welcome, daemon=True).start()

    def say(self, *parts):
        """One message, in as many frames as there are parts."""
        link, state = self._links[-1]
        for i, part in enumerate(parts):
            link.sendall(state.send(TextMessage(part, message_finished=i == len(parts) - 1)))

    def ping(self):
        link, state = self._links[-1]
        link.sendall(state.send(Ping(b"there?")))

    def cut(self):
        with contextlib.suppress(OSError):
            self._links[-1][0].shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)  # whoever waits in accept wakes up
        self._door.close()
        for link, _ in self._links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def _welcome(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self._door.accept()
                self._links.append((link, WSConnection(ConnectionType.SERVER)))
                threading.Thread(target=self._listen, args=(len(self._links) - 1,), daemon=True).start()

    def _listen(self, number):
        link, state = self._links[number]
        with contextlib.suppress(OSError):
            while data := link.recv(1 << 16):
                state.receive_data(data)
                for event in state.events():
                    if isinstance(event, Request):
                        link.sendall(state.send(AcceptConnection()))
                        self.welcomed.put(number)
                    elif isinstance(event, TextMessage):
                        self.heard.put((number, event.data))
                    elif isinstance(event, Pong):
                        self.pongs.put(bytes(event.payload))
                    elif isinstance(event, Ping) and not self.ignores_pings:
                        link.sendall(state.send(event.response()))
