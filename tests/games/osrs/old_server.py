"""A stand-in for the old game server: lock step over all agents, resets of a pair answered one tick apart.

Rules: nobody moves; in tick `length` of a fight the second agent to reset dies. `spoil(action, agent, count, answer)`
may change an answer: bytes are sent instead, None = silence, "close" = the connection ends.
"""

import contextlib
import json
import queue
import socket
import threading
import time

HEADS = (3, 2)
CONTRACT = {
    "actions": [
        {"id": "stance", "description": "", "actions": [{"id": f"s{i}", "description": ""} for i in range(3)]},
        {"id": "shout", "description": "", "actions": [{"id": f"q{i}", "description": ""} for i in range(2)]},
    ],
    "observations": [{"id": f"o{i}", "description": "", "partial": i == 1} for i in range(4)],
}


class OldServer:
    def __init__(self, length=6, spoil=None, port=0):
        self.length, self.spoil = length, spoil or (lambda action, agent, count, answer: answer)
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.inbox, self.agents, self.closing = queue.Queue(), {}, False
        self.counts, self.log, self.sockets, self.clock = {}, [], [], 0
        self.threads = [
            threading.Thread(target=self.accept, daemon=True),
            threading.Thread(target=self.run, daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def accept(self):
        while not self.closing:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(connection)
            thread = threading.Thread(target=self.listen, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def listen(self, connection):
        try:
            with connection, connection.makefile("rb") as file:
                for line in file:
                    self.inbox.put((connection, json.loads(line)))
        except (OSError, ValueError):
            pass

    def answer(self, connection, action, agent, body=None, error=None):
        reply = {"error": True, "message": error} if error else {} if body is None else {"body": body}
        self.counts[action] = self.counts.get(action, 0) + 1
        line = self.spoil(action, agent, self.counts[action], json.dumps(reply).encode() + b"\n")
        try:
            if line == "close":
                connection.shutdown(socket.SHUT_RDWR)
            elif line is not None:
                connection.sendall(line)
        except OSError:
            pass

    def run(self):
        while not self.closing:
            try:
                connection, request = self.inbox.get(timeout=0.05)
            except queue.Empty:
                continue
            agent, action = request["meta"]["id"], request["action"]
            self.log.append((agent, action))
            if action == "login":
                if agent in self.agents:
                    self.answer(connection, action, agent, error="used id")
                    continue
                self.agents[agent] = {"state": "PENDING", "pending": None}
                self.answer(connection, action, agent)
            elif action == "logout":
                self.agents.pop(agent, None)
                self.answer(connection, action, agent)
            elif agent not in self.agents:
                self.answer(connection, action, agent, error="unknown id")
            else:
                self.agents[agent]["pending"] = (connection, request)
            while self.agents and all(a["pending"] for a in self.agents.values()) and self.tick():
                pass

    def tick(self):
        """One game tick, if anything can be answered in it; the real server blocks at each silent agent."""
        answered = False
        for agent, me in list(self.agents.items()):
            connection, request = me["pending"]
            if request["action"] == "reset" and me["state"] != "MATCHED":
                me["target"] = request["body"]["target"]
                rival = self.agents.get(me["target"])
                waiting = rival and rival["pending"] and rival["pending"][1]["action"] == "reset"
                if rival and rival.get("target") == agent and (waiting and rival["state"] != "MATCHED"):
                    me["state"], rival["state"] = "NEXT TICK", "MATCHED"
                    for one, seat in ((rival, 0), (me, 1)):
                        one.update(ticks=1, seat=seat, is_dead=False, began=self.clock)
                elif me["state"] == "NEXT TICK":
                    me["state"] = "MATCHED"
                elif me["target"] == "baseline":
                    me.update(state="MATCHED", ticks=1, seat=0, is_dead=False, began=self.clock)
        self.clock += 1
        for agent, me in list(self.agents.items()):
            if me["pending"] is None:
                continue
            connection, request = me["pending"]
            if request["action"] == "reset" and me["state"] == "MATCHED":
                me["pending"], me["state"], answered = None, "STEPPING", True
                self.answer(connection, "reset", agent, self.sight(me))
            elif request["action"] == "step" and me["state"] == "STEPPING":
                me["pending"], answered = None, True
                me["ticks"] += 1
                self.answer(connection, "step", agent, self.sight(me))
                if me["is_dead"] == "reported":
                    me["state"] = "PENDING"
            elif request["action"] == "step":
                me["pending"], answered = None, True
                self.answer(connection, "step", agent, error=f"state {me['state']}")
        return answered

    def sight(self, me):
        was_dead, me["is_dead"] = me["is_dead"], self.clock - me["began"] > self.length
        dead = me["is_dead"]
        mine, theirs = (1.0, 0.0) if me["seat"] == 0 else (0.0, 1.0)
        meta = {"damageGeneratedOnTargetScale": 0.1, "damageGeneratedOnPlayerScale": 0.0, "episodeTicks": me["ticks"],
                "currentHealthPercent": mine if dead else 1.0, "currentTargetHealthPercent": theirs if dead else 1.0,
                "foodCount": 1, "remainingFoodScale": 0.5, "targetRemainingFoodScale": 0.25}  # fmt: skip
        body = {"obs": [float(me["ticks"]), 10.0 + me["seat"], 0.0, 1.0],
                "actionMasks": [[True] * n for n in HEADS], "meta": meta}  # fmt: skip
        if was_dead:
            body["terminalState"] = "WON" if me["seat"] == 0 else "LOST"
            me["is_dead"] = "reported"
        return body

    def close(self):
        self.closing = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self.listener.close()
        for connection in self.sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        time.sleep(0.02)
        for thread in self.threads:
            thread.join(2)
