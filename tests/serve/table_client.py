"""A client written only from the tables of the trainer's protocol; shares no code with the server."""

import json
import random
import socket

HEADS = {"NhEnv": (4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6), "DharokEnv": (4, 4, 2, 2, 2, 3)}
FEATURES = {"NhEnv": 176, "DharokEnv": 40}
ALWAYS = {
    "currentHealthPercent", "currentTargetHealthPercent", "currentPrayerPercent", "damageReceived", "damageDealt",
    "damageGeneratedOnPlayerScale", "damageGeneratedOnTargetScale", "extraDamageDealtOnPlayerScale",
    "extraDamageDealtOnTargetScale", "playerHealedScale", "targetHealedScale", "episodeTicks",
    "currentPlayerPrayerType", "currentTargetPrayerType", "playerAttackStyleType", "targetAttackStyleType",
    "attackLevelScale", "strengthLevelScale", "defenceLevelScale", "rangedLevelScale", "magicLevelScale",
    "playerFrozenTicks", "targetFrozenTicks", "distance", "foodCount", "targetFoodCount", "remainingFoodScale",
    "remainingBrewScale", "targetRemainingFoodScale", "targetRemainingBrewScale",
}  # fmt: skip
SOMETIMES = {
    "protectedPrayer": bool, "hitOffPrayer": bool, "attackTypeHit": str, "attackTypeReceived": str,
    "playerPrayerType": str, "targetPrayerType": str, "playerHitAttackSpeed": int, "targetHitAttackSpeed": int,
    "hitWithSmite": bool, "targetAttackedWithSmite": bool, "wastedFoodScale": float, "eatenFoodScale": float,
    "eatAtFoodScale": float, "eatToFoodScale": float, "wastedBrewScale": float, "eatAtBrewScale": float,
    "eatToBrewScale": float,
}  # fmt: skip
INTS = {"episodeTicks", "playerFrozenTicks", "targetFrozenTicks", "foodCount", "targetFoodCount"}
STYLES = {"MELEE", "RANGED", "MAGIC"}


class Refused(Exception):
    pass


OPEN = []


def close_all():
    while OPEN:
        OPEN.pop().close()


class TableClient:
    """One connection, one agent."""

    def __init__(self, port, agent, env="NhEnv", timeout=30.0, seed=0):
        self.agent, self.env = agent, env
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.socket.makefile("rb")
        self.random = random.Random(seed)
        self.sight = None
        OPEN.append(self)

    def send(self, action, body=None):
        line = json.dumps({"action": action, "body": body, "meta": {"id": self.agent}})
        self.socket.sendall(line.encode() + b"\n")

    def receive(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        answer = json.loads(line)
        if answer.get("error"):
            assert set(answer) == {"error", "message"} and answer["error"] is True
            raise Refused(answer["message"])
        assert set(answer) <= {"body"}
        return answer.get("body")

    def ask(self, action, body=None):
        self.send(action, body)
        return self.receive()

    def login(self):
        assert self.ask("login", {"agentType": self.env}) is None

    def send_reset(self, target, training=True, privileged=False, death_match=True, **params):
        own = {"agent": self.agent, "target": target, "episodeId": "4be2", **params}
        self.send("reset", {"target": target, "training": training, "maintainTargetEnvironment": privileged,
                            "deathMatch": death_match, "resetParams": own})  # fmt: skip

    def receive_sight(self, first=False):
        self.sight = self.receive()
        check_sight(self.sight, self.env, first)
        return self.sight

    def reset(self, target="baseline", **settings):
        self.send_reset(target, **settings)
        return self.receive_sight(first=True)

    def choose(self):
        """A legal action: choice by choice, NH's dependencies included."""
        masks = self.sight["actionMasks"]
        picks = []
        for h, mask in enumerate(masks):
            legal = [c for c, allowed in enumerate(mask) if allowed]
            if self.env == "NhEnv":
                legal = [c for c in legal if _depends(h, c, picks)]
            picks.append(self.random.choice(legal or [0]))
        return picks

    def send_step(self, action=None):
        self.send("step", {"action": self.choose() if action is None else action})

    def step(self, action=None):
        self.send_step(action)
        return self.receive_sight()

    def close(self):
        self.file.close()
        self.socket.close()


def _depends(h, c, picks):
    if h in (1, 2, 3):
        return (picks[0] == {1: 3, 2: 2, 3: 1}[h]) == (c > 0)
    if h == 8:
        return (picks[0] == 0) == (c > 0)
    if h == 10:
        return (picks[9] == 3) == (c > 0)
    return True


def check_sight(body, env, first):
    assert {"obs", "actionMasks", "meta"} <= set(body) <= {"obs", "actionMasks", "meta", "terminalState"}
    assert len(body["obs"]) == FEATURES[env]
    assert all(type(x) in (int, float) for x in body["obs"])
    assert [len(mask) for mask in body["actionMasks"]] == list(HEADS[env])
    assert all(type(x) is bool for mask in body["actionMasks"] for x in mask)
    meta = body["meta"]
    assert set(meta) >= ALWAYS
    assert set(meta) <= ALWAYS | set(SOMETIMES) | {"targetObs", "targetActionMasks"}
    assert all(type(meta[name]) is int for name in INTS)
    for name, kind in SOMETIMES.items():
        if name in meta:
            assert type(meta[name]) is kind, (name, meta[name])
    assert None not in meta.values()
    assert meta["playerAttackStyleType"] in STYLES and meta["targetAttackStyleType"] in STYLES
    assert meta["currentPlayerPrayerType"] in STYLES | {"null"}
    assert ("attackTypeHit" in meta) == ("playerHitAttackSpeed" in meta) == ("hitOffPrayer" in meta)
    if first:
        assert "terminalState" not in body and not set(meta) & set(SOMETIMES)
        assert meta["currentHealthPercent"] == 1.0 and meta["episodeTicks"] == 1
