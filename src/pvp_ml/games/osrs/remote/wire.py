"""The lines of the simulation protocol, as server and client read and write them (docs/simulation-protocol.md).

One JSON object a line: `{"action", "body", "meta": {"id"}}` is answered by `{"body"}`, `{}` or `{"error": true,
"message"}`. Unknown fields are ignored in both directions, as old programs do.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

MAX_REQUEST_BYTES = 8192
MAX_ANSWER_BYTES = 1 << 20
DEFAULT_PORT = 7070

Style = Literal["MELEE", "RANGED", "MAGIC"]
STYLES: tuple[str, ...] = ("MELEE", "RANGED", "MAGIC")


class Identity(msgspec.Struct, frozen=True):
    """The `meta` of a request."""

    id: str = ""


class Envelope(msgspec.Struct, frozen=True):
    """Any request; `body` is read once the action is known."""

    action: str
    body: msgspec.Raw = msgspec.Raw(b"null")
    meta: Identity = Identity()


class LoginBody(msgspec.Struct, frozen=True):
    """Creates a fighter."""

    agentType: str  # noqa: N815 - the name on the wire


class ResetBody(msgspec.Struct, frozen=True):
    """Asks for a fight."""

    target: str = "baseline"
    training: bool = False
    maintainTargetEnvironment: bool = False  # noqa: N815
    deathMatch: bool = False  # noqa: N815
    resetParams: dict[str, Any] | None = None  # noqa: N815


class StepBody(msgspec.Struct, frozen=True):
    """One choice per head."""

    action: list[int]


class StepMeta(msgspec.Struct, frozen=True, omit_defaults=False):
    """What a reply carries besides the observation. None = left out on the wire. Order: `meta.FIELDS`."""

    damageGeneratedOnTargetScale: float  # noqa: N815
    damageGeneratedOnPlayerScale: float  # noqa: N815
    episodeTicks: float  # noqa: N815
    currentHealthPercent: float = 0.0  # noqa: N815
    currentTargetHealthPercent: float = 0.0  # noqa: N815
    currentPrayerPercent: float = 0.0  # noqa: N815
    damageDealt: float = 0.0  # noqa: N815
    damageReceived: float = 0.0  # noqa: N815
    foodCount: float = 0.0  # noqa: N815
    targetFoodCount: float = 0.0  # noqa: N815
    remainingFoodScale: float = 0.0  # noqa: N815
    targetRemainingFoodScale: float = 0.0  # noqa: N815
    remainingBrewScale: float = 0.0  # noqa: N815
    targetRemainingBrewScale: float = 0.0  # noqa: N815
    attackLevelScale: float = 0.0  # noqa: N815
    strengthLevelScale: float = 0.0  # noqa: N815
    defenceLevelScale: float = 0.0  # noqa: N815
    rangedLevelScale: float = 0.0  # noqa: N815
    magicLevelScale: float = 0.0  # noqa: N815
    distance: float = 0.0
    playerFrozenTicks: float = 0.0  # noqa: N815
    targetFrozenTicks: float = 0.0  # noqa: N815
    extraDamageDealtOnTargetScale: float = 0.0  # noqa: N815
    extraDamageDealtOnPlayerScale: float = 0.0  # noqa: N815
    playerHealedScale: float = 0.0  # noqa: N815
    targetHealedScale: float = 0.0  # noqa: N815
    playerAttackStyleType: Style = "MELEE"  # noqa: N815
    targetAttackStyleType: Style = "MELEE"  # noqa: N815
    currentPlayerPrayerType: str = "null"  # noqa: N815
    currentTargetPrayerType: str = "null"  # noqa: N815
    protectedPrayer: bool | None = None  # noqa: N815
    hitOffPrayer: bool | None = None  # noqa: N815
    attackTypeHit: Style | None = None  # noqa: N815
    attackTypeReceived: Style | None = None  # noqa: N815
    playerPrayerType: str | None = None  # noqa: N815
    targetPrayerType: str | None = None  # noqa: N815
    playerHitAttackSpeed: float | None = None  # noqa: N815
    targetHitAttackSpeed: float | None = None  # noqa: N815
    hitWithSmite: bool | None = None  # noqa: N815
    targetAttackedWithSmite: bool | None = None  # noqa: N815
    eatenFoodScale: float | None = None  # noqa: N815
    wastedFoodScale: float | None = None  # noqa: N815
    eatAtFoodScale: float | None = None  # noqa: N815
    eatToFoodScale: float | None = None  # noqa: N815
    wastedBrewScale: float | None = None  # noqa: N815
    eatAtBrewScale: float | None = None  # noqa: N815
    eatToBrewScale: float | None = None  # noqa: N815
    targetObs: list[float] | None = None  # noqa: N815
    targetActionMasks: list[list[bool]] | None = None  # noqa: N815


class Sight(msgspec.Struct, frozen=True):
    """The answer to reset and step."""

    obs: list[float]
    actionMasks: list[list[bool]]  # noqa: N815
    meta: StepMeta
    terminalState: str | None = None  # noqa: N815


class Reply(msgspec.Struct, frozen=True):
    """Any reply of the server."""

    body: msgspec.Raw = msgspec.Raw(b"null")
    error: bool = False
    message: str = ""


_encoder = msgspec.json.Encoder()
_envelopes = msgspec.json.Decoder(Envelope)
_answers = msgspec.json.Decoder(Reply)
_sights = msgspec.json.Decoder(Sight)


def encode_request(action: str, agent: str, body: object = None) -> bytes:
    """One request line."""
    return _encoder.encode({"action": action, "body": body, "meta": {"id": agent}}) + b"\n"


def encode_answer(body: object = None) -> bytes:
    """One answer line; without a body an empty object."""
    return b"{}\n" if body is None else _encoder.encode({"body": body}) + b"\n"


def encode_error(message: str) -> bytes:
    """One line of the error form."""
    return _encoder.encode({"error": True, "message": message}) + b"\n"


def read_envelope(line: bytes) -> Envelope:
    """A request; raises msgspec.DecodeError (ValidationError is one) or UnicodeDecodeError."""
    return _envelopes.decode(line)


def read_answer(line: bytes) -> Reply:
    """An answer, its body still raw; raises as `read_envelope`."""
    return _answers.decode(line)


def read_sight(body: msgspec.Raw) -> Sight:
    """The body of an answer to reset or step; raises as `read_envelope`."""
    return _sights.decode(body)
