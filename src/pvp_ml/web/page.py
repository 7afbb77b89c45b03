"""One connection: the page at its other end, and what it is doing."""

from __future__ import annotations

import asyncio

from pvp_ml.errors import UserError
from pvp_ml.web.arena import Arena
from pvp_ml.web.messages import Bring, Encoded, Leave, Message, Order, Pace, Start, Step, Watch, encode, read_message
from pvp_ml.web.room import Room


class Connection:
    """One page. Frames go straight to its socket; a page that does not read is cut off."""

    def __init__(self, transport: asyncio.Transport, unsent_bytes: int) -> None:
        self._transport = transport
        self._unsent_bytes = unsent_bytes

    def push(self, message: Encoded) -> None:
        """Send without waiting."""
        if self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() > self._unsent_bytes:
            self._transport.abort()
            return
        self._transport.write(message.wire)


class Page:
    """What one connection is doing: nothing, playing, or watching."""

    def __init__(self, arena: Arena, connection: Connection, only_room: str = "") -> None:
        self._arena = arena
        self._only_room = only_room  # a guest with a share link may watch there and nothing else
        self._connection = connection
        self._room: Room | None = None

    async def hear(self, text: str | bytes) -> None:
        """Act on a message; a wrong message gets an error and changes nothing."""
        try:
            await self._act(read_message(text))
        except UserError as error:
            self.complain(str(error))

    def complain(self, words: str) -> None:
        """Say no."""
        self._connection.push(encode("refused", message=words))

    async def _act(self, message: Message) -> None:
        is_guest_watching = isinstance(message, Watch) and message.room == self._only_room
        if self._only_room and not is_guest_watching:
            raise UserError("this link only lets you watch", "ask the person who runs the server for the token")
        if isinstance(message, Start):
            room = await self._opened(message)
            self._sit(room, room.key)
        elif isinstance(message, Bring):
            found = await asyncio.to_thread(self._arena.judge, message)
            self._connection.push(encode("brought", ready=found.ready, problems=found.problems))
        elif isinstance(message, Watch):
            self._sit(self._arena.room(message.room), message.key)
        elif isinstance(message, Leave):
            self._stop()
        else:
            self._drive(message)

    async def _opened(self, message: Start) -> Room:
        """A new room; a game that starts processes does so without holding up everybody else."""
        if self._arena.is_slow:
            return await asyncio.to_thread(self._arena.open, message)
        return self._arena.open(message)

    def _sit(self, room: Room, key: str) -> None:
        if self._room is not room:
            self._stop()
        self._room = room
        room.join(self._connection, key)

    def _drive(self, message: Order | Pace | Step) -> None:
        room = self._room
        if room is None:
            raise UserError("no match is being played here", "start one first")
        if room.starter is not self._connection:
            raise UserError("you are spectating", "only the one who started the match can do that")
        if isinstance(message, Order):
            self._order(room, message)
        elif isinstance(message, Pace):
            room.pace(message.tick_ms, message.paused)
        else:
            room.step()

    def _order(self, room: Room, message: Order) -> None:
        try:
            room.order(message.step, message.picks)
        except UserError as error:
            if message.step >= room.match.frame.step:
                raise
            self._connection.push(encode("late", step=room.match.frame.step, message=str(error)))  # nobody's fault
        else:
            self._connection.push(encode("ordered", step=room.match.frame.step))

    def _stop(self) -> None:
        room, self._room = self._room, None
        if room is None:
            return
        is_starter = room.starter is self._connection
        room.leave(self._connection)
        if is_starter:
            self._arena.close(room, "the player left")

    def gone(self) -> None:
        """The connection ended: a starter may come back with the key."""
        if self._room is not None:
            self._room.leave(self._connection)
            self._room = None
