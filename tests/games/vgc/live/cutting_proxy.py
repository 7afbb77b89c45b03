"""A way to a local server that can be cut."""

import contextlib
import socket
import threading


class CuttingProxy:
    """Passes bytes between whoever connects and the server's port; `cut` hangs up on everybody at once."""

    def __init__(self, port):
        self._target, self._pairs, self._lock = port, [], threading.Lock()
        self.cuts = 0
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        threading.Thread(target=self._welcome, daemon=True).start()

    def cut(self):
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for end in (end for pair in pairs for end in pair):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.cuts += bool(pairs)

    def close(self):
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)  # whoever waits in accept wakes up
        self._door.close()
        self.cut()

    def _welcome(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._door.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._pairs.append((near, far))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    @staticmethod
    def _pass_on(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)
