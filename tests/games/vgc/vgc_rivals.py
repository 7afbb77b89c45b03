"""A player of poke-env in a seat of our simulator, so that live play can be compared with the simulator."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.legal import Legality
from pvp_ml.games.vgc.actions import PASS, SWITCH, TARGETS
from pvp_ml.games.vgc.codec import CodecError, preview_of_order
from pvp_ml.match import IDLE, RESTING, External, MatchPlan, StepBuffers

SEAT = Path(__file__).parent / "poke_env_seat.py"


def plain(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def slot_choice(request, slot, text):
    words = text.split()
    if words[0] == "pass":
        return PASS
    if words[0] == "default" and request.get("forceSwitch") and not request["forceSwitch"][slot]:
        return PASS
    if words[0] == "switch":  # by nickname, else by species
        wanted, entries = plain("".join(words[1:])), request["side"]["pokemon"]
        nicknames = [plain(entry["ident"].split(": ", 1)[1]) for entry in entries]
        species = [plain(entry["details"].split(",")[0]) for entry in entries]
        return SWITCH + (nicknames if wanted in nicknames else species).index(wanted)
    moves = [move["id"] for move in request["active"][slot]["moves"]]
    move = 0 if len(moves) == 1 else int(words[1]) - 1 if words[1].isdigit() else moves.index(words[1])
    target = next((int(word) for word in words[2:] if re.fullmatch(r"[+-]?[12]", word)), 0)
    return 10 * move + 5 * (words[-1] in ("terastallize", "mega")) + TARGETS.index(target)


def picks_of(request, choice):
    """Our picks for what poke-env sends; None when it is unclear."""
    try:
        if request.get("teamPreview"):
            return [preview_of_order([int(d) for d in re.findall(r"\d", choice)][:4]), PASS, PASS]
        left, right = choice.removeprefix("/choose ").split(",")
        return [0, slot_choice(request, 0, left.strip()), slot_choice(request, 1, right.strip())]
    except (ValueError, CodecError, IndexError, KeyError):
        return None


def results_in_the_simulator(game, python, rival, player, battles):
    """(won, lost, unclear choices of the rival, own decisions) of the player; seats in turn."""
    other = subprocess.Popen([python, str(SEAT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    legality, out = Legality(game.spec), StepBuffers.allocate(game.spec, 1)
    won = lost = unclear = decisions = 0
    try:
        other.stdin.write(rival + "\n")
        game.queue([MatchPlan(i, 77 + i, (External("a"), External("b"))) for i in range(battles)])
        game.start()
        read, serial, rng = 0, -1, np.random.default_rng(1)
        while won + lost < battles:
            assert game.recv(1, 120.0, out) == 1 and not out.faults[0]
            if out.ended[0] or out.truncated[0]:
                won += out.result[0, serial % 2] == 1
                lost += out.result[0, serial % 2] != 1
            if out.serial[0] == RESTING:
                break
            if out.serial[0] != serial:
                read, serial = 0, int(out.serial[0])
            ours, theirs, actions = serial % 2, 1 - serial % 2, np.full((1, 2, 3), IDLE, np.int32)
            if out.acting[0, ours]:
                decisions += 1
                at = slice(ours, ours + 1)
                key = rng.integers(0, 1 << 62, 1).astype(np.uint64)
                actions[0, ours] = player.decide(out.serial, np.array([ours]), out.obs[0, at], out.mask[0, at], key)[0]
            if out.acting[0, theirs]:
                view = game.view(0)
                request, lines = view["seats"][theirs]["request"], view["log"][read:]
                read = len(view["log"])
                row = {"room": f"battle-gen9vgc2025regi-{serial + 1}", "lines": lines, "request": request}
                other.stdin.write(json.dumps(row) + "\n")
                other.stdin.flush()
                picks = picks_of(request, json.loads(other.stdout.readline()))
                actions[0, theirs] = IDLE if picks is None else picks
                unclear += picks is None
                try:
                    legality.check(actions, out.acting[:1], out.mask[:1])
                except UserError:
                    actions[0, theirs], unclear = IDLE, unclear + 1
            game.send(out.match[:1], actions)
    finally:
        other.kill()
        other.communicate()  # also closes the pipes
    return int(won), int(lost), unclear, decisions
