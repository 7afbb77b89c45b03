"""Everything that poke-env does for us, in a program of its own: poke-env pins other libraries exactly.

Run by path with a Python that has poke-env, JSON on the first line of stdin:
{"mode": "baseline", port, format, teams, warm_up, battles, concurrent}: random battles over a websocket; prints
{battles, cpu_s}. {"mode": "live", server, login, user, password, format, teams, battles, concurrent, sheets}: logs in,
accepts challenges, and asks for every decision with a line {"ask", room, lines, request}; an answer is a line
{"ask", "choice"}. Also tells {"ready"}, {"rejected", room}, {"over", room, won}, {"done"}.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import sys
import threading
import time
from typing import Any


def tell(**news: object) -> None:
    """One line for the program that started us."""
    print(json.dumps(news), flush=True)


def drawn_team(texts: list[str], seed: int) -> Any:
    """A teambuilder that draws one of these teams, PokePaste texts or packed, for each battle."""
    from poke_env.teambuilder import Teambuilder

    class Drawn(Teambuilder):  # type: ignore[misc]
        def __init__(self) -> None:
            self.packed = [self.join_team(self.parse_showdown_team(t)) if "\n" in t else t for t in texts]
            self.random = random.Random(seed)  # noqa: S311 - a draw of teams, not a secret

        def yield_team(self) -> str:
            return str(self.random.choice(self.packed))

    return Drawn()


def settings(request: dict[str, Any], name: str, password: str | None, seed: int) -> dict[str, Any]:
    """Arguments that every player of poke-env gets."""
    from poke_env import AccountConfiguration, ServerConfiguration

    return {
        "account_configuration": AccountConfiguration(name, password),
        "server_configuration": ServerConfiguration(request["server"], request["login"]),
        "battle_format": request["format"],
        "team": drawn_team(request["teams"], seed),
        "max_concurrent_battles": request["concurrent"],
        "accept_open_team_sheet": request.get("sheets") == "open",
        "log_level": logging.CRITICAL,
        "open_timeout": 60.0,
        "ping_timeout": None,
    }


async def baseline(request: dict[str, Any]) -> dict[str, Any]:
    """Play `warm_up` battles, then the measured ones; gives what the latter cost this process."""
    from poke_env.player import RandomPlayer

    request |= {"server": f"ws://127.0.0.1:{request['port']}/showdown/websocket", "login": "http://127.0.0.1:9/?"}
    first, second = (RandomPlayer(**settings(request, f"Baseline {seat}", None, seat)) for seat in (1, 2))
    await first.battle_against(second, n_battles=request["warm_up"])
    first.reset_battles()
    second.reset_battles()
    print("warm", flush=True)
    began = time.process_time()
    await first.battle_against(second, n_battles=request["battles"])
    return {"battles": first.n_finished_battles, "cpu_s": time.process_time() - began}


def live_player(request: dict[str, Any]) -> Any:
    """A player that asks our parent for every decision."""
    from poke_env.player import Player
    from poke_env.player.battle_order import BattleOrder

    class Spelled(BattleOrder):  # type: ignore[misc]
        def __init__(self, choice: str) -> None:
            self.choice = choice

        @property
        def message(self) -> str:
            return f"/choose {self.choice}"

    class LivePlayer(Player):  # type: ignore[misc]
        lines: dict[str, list[str]]
        requests: dict[str, dict[str, Any]]
        waiting: dict[int, asyncio.Future[str]]

        async def _handle_battle_message(self, split_messages: list[list[str]]) -> None:
            room = split_messages[0][0].lstrip(">")
            for parts in split_messages[1:]:
                if len(parts) > 2 and parts[1] == "request":
                    if parts[2]:
                        self.requests[room] = json.loads("|".join(parts[2:]))
                    continue
                self.lines.setdefault(room, []).append("|".join(parts))
                if len(parts) > 2 and parts[1] == "error" and parts[2].startswith("[Invalid choice]"):
                    tell(rejected=parts[2], room=room)
            await super()._handle_battle_message(split_messages)

        async def ask(self, battle: Any) -> str:
            room, number = battle.battle_tag, len(self.waiting)
            self.waiting[number] = asyncio.get_running_loop().create_future()
            tell(ask=number, room=room, lines=self.lines.pop(room, []), request=self.requests[room])
            return await self.waiting[number]

        async def choose_move(self, battle: Any) -> Spelled:
            return Spelled(await self.ask(battle))

        async def teampreview(self, battle: Any) -> str:
            return f"/choose {await self.ask(battle)}"

        def _battle_finished_callback(self, battle: Any) -> None:
            self.lines.pop(battle.battle_tag, None)
            tell(over=True, room=battle.battle_tag, won=battle.won)

    player = LivePlayer(**settings(request, request["user"], request["password"] or None, 1))
    player.lines, player.requests, player.waiting = {}, {}, {}
    return player


async def live(request: dict[str, Any]) -> dict[str, Any]:
    """Accept challenges until the asked number of battles is over; 0 = for ever."""
    player = live_player(request)
    loop = player.ps_client.loop

    def listen() -> None:
        for line in sys.stdin:
            answer = json.loads(line)
            future = player.waiting[answer["ask"]]
            loop.call_soon_threadsafe(future.set_result, answer["choice"])
        os._exit(0)  # our parent is gone; poke-env would wait for challenges for ever

    threading.Thread(target=listen, daemon=True).start()
    tell(ready=request["user"])
    await player.accept_challenges(None, request["battles"] or 1_000_000_000)
    return {"done": player.n_finished_battles, "won": player.n_won_battles}


if __name__ == "__main__":
    wanted = json.loads(sys.stdin.readline())
    print(json.dumps(asyncio.run({"baseline": baseline, "live": live}[wanted.pop("mode")](wanted))), flush=True)
