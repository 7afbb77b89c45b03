"""Runs inside a venv that has poke-env: one of its players decides for a seat of our simulator, without a server.

First line on stdin: the player's class. Then JSON lines {room, lines, request}; each is answered by a line with the
choice that the player would send. What it is fed goes through poke-env's own handling of messages.
"""

import asyncio
import json
import logging
import sys

from poke_env import AccountConfiguration
from poke_env import player as players

wanted = sys.stdin.readline().strip()
player = getattr(players, wanted)(
    account_configuration=AccountConfiguration("Seat", None),
    battle_format="gen9vgc2025regi",
    start_listening=False,
    accept_open_team_sheet=True,
    max_concurrent_battles=1000,
    log_level=logging.CRITICAL,
)
sent = []


async def keep(message, room="", *rest):
    sent.append(message)


player.ps_client.send_message = keep


async def hear(room, texts):
    if texts:
        await player._handle_battle_message([[f">{room}"], *(text.split("|") for text in texts)])


async def decide(row, is_new):
    sheets = [line for line in row["lines"] if line.startswith("|showteam|")]
    lines = [line for line in row["lines"] if not line.startswith("|showteam|")]
    user = row["request"]["side"]["name"]
    if is_new:
        player.ps_client._account_configuration = AccountConfiguration(user, None)
        await hear(row["room"], ["|init|battle"])
    await hear(row["room"], lines)
    await hear(row["room"], ["|request|" + json.dumps(row["request"])])
    await hear(row["room"], sheets)  # with open sheets the preview is decided once both are shown


known = set()
for text in sys.stdin:
    row = json.loads(text)
    sent.clear()
    is_new = row["room"] not in known
    known.add(row["room"])
    asyncio.run_coroutine_threadsafe(decide(row, is_new), player.ps_client.loop).result(60)
    choices = [message for message in sent if message.startswith(("/choose", "/team"))]
    print(json.dumps(choices[-1] if choices else ""), flush=True)
