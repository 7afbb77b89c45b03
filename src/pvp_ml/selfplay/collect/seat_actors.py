"""Who decides for a seat outside the game: live policies, frozen members, scripted players, behind one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.match import Live, Member, Occupant, Scripted
from pvp_ml.model.actor import Actor
from pvp_ml.spec import GameSpec

UNDECIDED = -1
"""Slot of a seat that the collector does not decide: bots inside the game, externals, resting rows."""


_MEMBER = "member:"


class MemberSource(Protocol):
    """Where frozen weights are found by their hash."""

    def actor(self, content_hash: str) -> Actor:
        """The frozen policy with these weights; raises UserError when it is missing, corrupt or does not fit."""


class SeatActors:
    """A growing table of who decides; a seat holds an index into it for the whole match."""

    def __init__(self, spec: GameSpec, live: dict[str, Actor], members: MemberSource | None) -> None:
        self._spec = spec
        self._members = members
        self.live = live
        self.trainees = list(live)
        self._table: list[Actor | players.Player] = list(live.values())
        self._free: list[int] = []  # indexes of members that left
        self._index: dict[str, int] = {f"live:{name}": i for i, name in enumerate(live)}

    def slot(self, occupant: Occupant) -> int:
        """The index of who decides for this occupant, or UNDECIDED."""
        match occupant:
            case Live(trainee):
                if trainee not in self.live:
                    raise UserError(f"lineup names trainee '{trainee}'", f"this run trains: {', '.join(self.trainees)}")
                return self._index[f"live:{trainee}"]
            case Member(content_hash):
                return self._slot_of(_MEMBER + content_hash, lambda: self._member(content_hash))
            case Scripted(name):
                return self._slot_of(f"scripted:{name}", lambda: players.make(name, self._spec))
            case _:
                return UNDECIDED

    def __getitem__(self, slot: int) -> Actor | players.Player:
        """Who decides."""
        return self._table[slot]

    def scripted(self, name: str) -> players.Player:
        """The scripted player of that name, which holds all of its seats."""
        player = self._table[self.slot(Scripted(name))]
        assert not isinstance(player, Actor)
        return player

    @property
    def members(self) -> set[str]:
        """Hashes of the members that are held in memory."""
        return {key.removeprefix(_MEMBER) for key in self._index if key.startswith(_MEMBER)}

    def forget_members(self, keep: set[str]) -> None:
        """Free the members whose hash is not in `keep`: nobody that plays or is queued may be missing there."""
        for content_hash in self.members - keep:
            index = self._index.pop(_MEMBER + content_hash)
            self._table[index] = self._table[0]
            self._free.append(index)

    def _slot_of(self, key: str, make: Callable[[], Actor | players.Player]) -> int:
        if key not in self._index:
            made = make()
            if self._free:
                index = self._free.pop()
                self._table[index] = made
            else:
                index = len(self._table)
                self._table.append(made)
            self._index[key] = index
        return self._index[key]

    def _member(self, content_hash: str) -> Actor:
        if self._members is None:
            raise UserError(f"lineup names member {content_hash[:12]}", "this run has no league")
        return self._members.actor(content_hash)
