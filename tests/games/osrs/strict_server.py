"""`python strict_server.py --port 7070`: the original game server's protocol, written from its facts alone.

Nothing of pvp_ml is imported, so that mistakes of our client and of our own server cannot cancel out. The rules of
the protocol are all here; the fights are not: whoever attacks strikes at random. What is strict about it:

- one tick for all: it is played once every agent has sent something, and waits for ever for one that does not;
- agents are known by id, whatever becomes of connections; only a logout removes one;
- an opponent is looked up by the name that is shown, the first letter of every word raised;
- a reset is answered six ticks later, or later still, and the two sides of a fight one tick apart;
- nonsense ends the connection without a word; mistakes are answered with a stack trace.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import selectors
import socket
from dataclasses import dataclass, field

HEADS = (4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6)
TYPE_HEAD = {1: 3, 2: 2, 3: 1}  # attack → head that must name its type
FEATURES, OWN_HEALTH, TARGET_HEALTH, HITPOINTS_LEVEL = 176, 10, 11, 102
HITPOINTS, FOOD, HEAL, SPEED, MOST_DAMAGE = 99, 6, 22, 4, 40
LONGEST_LINE = 8192
RESET_TICKS, DYING_TICKS = 5, 3


class Refused(Exception):
    """Answered in the error form."""


@dataclass(eq=False)
class Player:
    """A body in the world; a scripted one has no agent."""

    name: str
    hitpoints: int = HITPOINTS
    food: int = FOOD
    cooldown: int = 0
    dying: int = 0
    dealt: int = 0  # this tick

    def revive(self) -> None:
        self.hitpoints, self.food, self.cooldown, self.dying, self.dealt = HITPOINTS, FOOD, 0, 0, 0

    def act(self, attack: bool, eat: bool, target: Player) -> None:
        if eat and self.food and not self.dying:
            self.food -= 1
            self.hitpoints = min(HITPOINTS + HEAL, self.hitpoints + HEAL)
            self.cooldown += 3
        if attack and self.cooldown <= 0 and not self.dying and not target.dying:
            self.dealt = random.randint(0, MOST_DAMAGE)
            target.hitpoints = max(0, target.hitpoints - self.dealt)
            self.cooldown = SPEED


@dataclass(eq=False)
class Agent:
    """What a client drives; `message` is the one that waits for an answer, with its connection."""

    id: str
    player: Player
    state: str = "PENDING"
    message: dict | None = None
    link: Link | None = None
    target: str = ""
    wants_view: bool = False
    is_death_match: bool = False
    opponent: Player | None = None
    rival: Agent | None = None
    wait: int = 0
    ticks: int = 0
    ending: str = ""
    is_due: bool = False  # its reset can be answered when the tick is over
    answer: dict | None = None  # sent when the tick is over


@dataclass(eq=False)
class Link:
    """One connection."""

    socket: socket.socket
    received: bytearray = field(default_factory=bytearray)

    def send(self, answer: dict) -> None:
        with contextlib.suppress(OSError):  # whoever asked may have gone; its agent has not
            self.socket.sendall(json.dumps(answer).encode() + b"\n")


class World:
    """The state machine of section 7.3 over all agents."""

    def __init__(self) -> None:
        self.agents: dict[str, Agent] = {}
        self.players: dict[str, Player] = {}  # by shown name
        self.tick_number = 0

    # --- messages ---

    def take(self, request: dict, link: Link) -> None:
        action, name = request["action"], request["meta"]["id"]
        try:
            if action == "login":
                self.login(name, request["body"]["agentType"])
                link.send({})
            elif action == "logout":
                self.logout(self.find(name))
                link.send({})
            elif action == "debug":
                link.send({"body": [self.record(agent) for agent in self.agents.values()]})
            else:
                agent = self.find(name)
                if agent.message is not None:
                    raise Refused("java.lang.IllegalStateException: a message is queued already")
                agent.message, agent.link = request, link
        except Refused as error:
            link.send({"error": True, "message": f"{error}\n\tat remote.Environment.handle(Environment.java:77)"})

    def login(self, name: str, kind: str) -> None:
        if name in self.agents or shown(name) in self.players:
            raise Refused(f"java.lang.IllegalArgumentException: {name} is in use")
        if kind != "NhEnv":
            raise Refused(f"java.lang.IllegalArgumentException: {kind}")
        player = self.players[shown(name)] = Player(shown(name))
        self.agents[name] = Agent(name, player)

    def logout(self, agent: Agent) -> None:
        del self.agents[agent.id]
        self.players.pop(agent.player.name, None)
        if agent.message is not None:
            agent.link.send({"error": True, "message": "java.lang.IllegalStateException: agent logged out"})

    def find(self, name: str) -> Agent:
        if name not in self.agents:
            raise Refused(f"java.lang.IllegalArgumentException: no agent {name}")
        return self.agents[name]

    def record(self, agent: Agent) -> dict:
        pending = {} if agent.message is None else {"pendingMessage": agent.message["action"]}
        return {"id": agent.id, "target": agent.target, "state": agent.state, **pending, "envType": "NhEnv",
                "currentEpisodeTicks": agent.ticks, "lastMessageTick": agent.ticks, "isLoaded": True,
                "isTargetLoaded": agent.opponent is not None}  # fmt: skip

    # --- ticks ---

    def may_tick(self) -> bool:
        """Nobody who is logged in is without a message."""
        return bool(self.agents) and all(agent.message is not None for agent in self.agents.values())

    def tick(self) -> None:
        self.tick_number += 1
        bodies = [*self.players.values(), *(a.opponent for a in self.agents.values() if a.rival is None and a.opponent)]
        for body in bodies:
            body.cooldown -= 1
            body.dealt = 0
        for agent in list(self.agents.values()):
            try:
                self.slot(agent)
            except Refused as error:
                agent.answer = {"error": True, "message": str(error)}
        for body in bodies:
            if body.hitpoints == 0 and not body.dying:
                body.dying = DYING_TICKS
            elif body.dying > 1:
                body.dying -= 1
        for agent in list(self.agents.values()):
            self.finish(agent)

    def slot(self, agent: Agent) -> None:
        """An agent's turn in the tick."""
        action = agent.message["action"]
        if action == "reset":
            if agent.state in ("PENDING", "STEPPING", "TERMINAL"):
                self.begin_reset(agent, agent.message["body"])
            elif agent.state == "PROCESSING_RESET":
                self.continue_reset(agent)
            if agent.state == "PENDING_TARGET_MATCH":
                self.match(agent)
            agent.is_due = agent.state == "RESET_COMPLETE"  # a side whose turn is over hears of it in the next tick
        elif action == "step":
            self.step(agent, agent.message["body"]["action"])
        else:
            raise Refused(f"java.lang.IllegalArgumentException: {action}")

    def begin_reset(self, agent: Agent, body: dict) -> None:
        agent.state, agent.wait = "PROCESSING_RESET", RESET_TICKS
        agent.target, agent.wants_view = body["target"], bool(body.get("maintainTargetEnvironment"))
        agent.is_death_match = bool(body.get("deathMatch"))
        params = body["resetParams"]
        if params["agent"] != agent.id or params["target"] != agent.target or not params["episodeId"]:
            raise Refused("java.lang.IllegalArgumentException: resetParams")

    def continue_reset(self, agent: Agent) -> None:
        target = agent.opponent
        is_there = target is not None and (agent.rival is None or self.players.get(target.name) is target)
        is_dying = agent.player.dying > 1 or (is_there and target.dying > 1)
        if not is_dying:
            agent.wait -= 1
        if agent.wait <= 0:
            agent.player.revive()
            agent.state, agent.opponent, agent.rival, agent.ending = "PENDING_TARGET_MATCH", None, None, ""

    def match(self, agent: Agent) -> None:
        if agent.target == "baseline":
            agent.opponent = Player(f"T {agent.id}")
            self.complete(agent)
            return
        rival = next((a for a in self.agents.values() if a.player is self.players.get(agent.target)), None)
        if rival is None or rival is agent or rival.state != "PENDING_TARGET_MATCH":
            return
        if self.players.get(rival.target) is agent.player:
            for one, other in ((agent, rival), (rival, agent)):
                one.opponent, one.rival = other.player, other
                self.complete(one)

    def complete(self, agent: Agent) -> None:
        agent.state, agent.ticks = "RESET_COMPLETE", 0

    def step(self, agent: Agent, action: list[int]) -> None:
        if agent.state == "TERMINAL":
            return
        if agent.state != "STEPPING":
            raise Refused(f"java.lang.IllegalStateException: step while {agent.state}")
        agent.ticks += 1
        has_gone = agent.rival is not None and self.agents.get(agent.rival.id) is not agent.rival
        ending = "TARGET_LOST" if has_gone else self.ending(agent)
        if not ending and agent.rival is not None and agent.rival.state not in ("STEPPING", "RESET_COMPLETE"):
            ending = "TARGET_LOST"
        if ending:
            agent.state, agent.ending = "TERMINAL", ending
            return
        if len(action) != len(HEADS) or any(not 0 <= a < n for a, n in zip(action, HEADS, strict=True)):
            raise Refused(f"java.lang.IllegalArgumentException: action {action}")
        if action[0] and action[TYPE_HEAD[action[0]]] == 0:
            raise Refused(f"java.lang.IllegalArgumentException: attack without a type {action}")
        agent.player.act(action[0] > 0, action[5] > 0, agent.opponent)
        if agent.rival is None:
            agent.opponent.act(True, agent.opponent.hitpoints < HITPOINTS // 3, agent.player)

    def ending(self, agent: Agent) -> str:
        if agent.opponent.dying:
            return "WON"
        if agent.player.dying:
            return "LOST"
        return "" if agent.is_death_match or (agent.player.food and agent.opponent.food) else "TIED"

    def finish(self, agent: Agent) -> None:
        """The end of the tick: answer what can be answered."""
        if agent.message is None:
            return
        action = agent.message["action"]
        if agent.answer is not None:
            pass
        elif action == "reset" and agent.is_due:
            agent.answer, agent.state, agent.is_due = {"body": self.sight(agent)}, "STEPPING", False
        elif action == "step" and agent.state == "TERMINAL":
            agent.answer = {"body": {**self.sight(agent), "terminalState": agent.ending}}
            agent.state = "PENDING"
        elif action == "step":
            agent.answer = {"body": self.sight(agent)}
            if self.ending(agent):
                agent.state, agent.ending = "TERMINAL", self.ending(agent)
        if agent.answer is not None:
            link, answer = agent.link, agent.answer
            agent.message = agent.link = agent.answer = None
            link.send(answer)

    # --- what is seen ---

    def sight(self, agent: Agent) -> dict:
        me, target = agent.player, agent.opponent
        meta = {
            "currentHealthPercent": me.hitpoints / HITPOINTS,
            "currentTargetHealthPercent": target.hitpoints / HITPOINTS,
            "currentPrayerPercent": 1.0,
            "damageDealt": me.dealt / HITPOINTS,
            "damageReceived": 0.0,
            "damageGeneratedOnTargetScale": me.dealt / HITPOINTS,
            "damageGeneratedOnPlayerScale": target.dealt / HITPOINTS,
            "episodeTicks": agent.ticks,
            "foodCount": int(me.food > 0),
            "targetFoodCount": int(target.food > 0),
            "remainingFoodScale": me.food * HEAL / HITPOINTS,
            "targetRemainingFoodScale": target.food * HEAL / HITPOINTS,
            "remainingBrewScale": 0.0,
            "targetRemainingBrewScale": 0.0,
            "playerAttackStyleType": "MAGIC",
            "targetAttackStyleType": "MAGIC",
            "currentPlayerPrayerType": "null",
            "currentTargetPrayerType": "null",
            "distance": 1.0,
        }
        if me.dealt:
            meta |= {"attackTypeHit": "MAGIC", "hitOffPrayer": True, "playerHitAttackSpeed": SPEED}
        if target.dealt:
            meta |= {"attackTypeReceived": "MAGIC", "protectedPrayer": False, "targetHitAttackSpeed": SPEED}
        if agent.wants_view:
            meta |= {"targetObs": view(target, me), "targetActionMasks": masks(target)}
        return {"obs": view(me, target), "actionMasks": masks(me), "meta": meta}


def shown(name: str) -> str:
    """A name as players see it."""
    return " ".join(word[:1].upper() + word[1:] for word in name.split(" "))


def view(me: Player, target: Player) -> list[float]:
    obs = [0.0] * FEATURES
    obs[OWN_HEALTH], obs[TARGET_HEALTH] = me.hitpoints / HITPOINTS, target.hitpoints / HITPOINTS
    obs[HITPOINTS_LEVEL] = HITPOINTS
    return obs


def masks(me: Player) -> list[list[bool]]:
    is_ready, may_eat = str(int(me.cooldown <= 1)), str(int(me.food > 0))
    waits = "1" if is_ready == "0" else "0"
    bits = f"{waits}{3 * is_ready} 110 110 1110 10000 1{may_eat} 10 10 11 10000 1000000 011100"
    return [[bit == "1" for bit in head] for head in bits.split()]


def serve(port: int) -> None:
    """Until it is killed."""
    world, selector = World(), selectors.DefaultSelector()
    listener = socket.create_server(("127.0.0.1", port), backlog=512)
    selector.register(listener, selectors.EVENT_READ)
    print(f"port {listener.getsockname()[1]}", flush=True)
    while True:
        for key, _ in selector.select(0 if world.may_tick() else None):
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ, Link(connection))
            elif not listen(world, key.data):
                selector.unregister(key.fileobj)
                key.fileobj.close()
        if world.may_tick():
            world.tick()


def listen(world: World, link: Link) -> bool:
    """Take what came; False when the connection is over."""
    try:
        data = link.socket.recv(1 << 16)
    except OSError:
        data = b""
    link.received += data
    while b"\n" in link.received:
        line, _, link.received = link.received.partition(b"\n")
        try:
            world.take(json.loads(line), link)
        except (ValueError, KeyError, TypeError):
            return False
    return bool(data) and len(link.received) <= LONGEST_LINE


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=7070)
    serve(parser.parse_args().port)
