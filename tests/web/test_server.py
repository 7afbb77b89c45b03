"""The server against strangers: origins, hosts, tokens, sizes, rates, nonsense; and a whole match over the socket."""

import json
import random
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ringside import Refused, Ringside

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.presentation import PageView, Presentation
from pvp_ml.web.guard import Allowance, Guard, ServerConfig
from pvp_ml.web.messages import MAX_MESSAGE_BYTES, Order, Start, read_message


def test_the_page_and_its_parts_are_served_strictly(board):
    scripts = {
        "/": "home/home.js",
        "/models": "home/home.js",  # what is left of an address that somebody shortened
        "/play": "home/home.js",
        "/play/connect4": "match/match.js",
        "/runs/any": "run/run.js",
        "/models/any": "model/model.js",
    }
    for address, script in scripts.items():
        status, body, headers = board.get(address)
        assert status == 200 and f'<script type="module" src="/static/{script}">'.encode() in body
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert headers["x-content-type-options"] == "nosniff" and "server" not in headers
    for path, kind in (("match/match.js", "javascript"), ("match/match.css", "css"), ("style.css", "css")):
        status, _, headers = board.get(f"/static/{path}")
        assert status == 200 and kind in headers["content-type"]
    assert board.get("/static/../server.py")[0] == 404
    assert board.get("/static/%2e%2e/server.py")[0] == 404


def test_a_game_brings_its_own_view(board):
    view = json.loads(board.get(board.api)[1])["view"]
    assert view == {"module": "/games/connect4/board.js", "styles": ["/games/connect4/board.css"]}
    status, body, headers = board.get(view["module"])
    assert status == 200 and "javascript" in headers["content-type"] and b"export default class" in body
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert "css" in board.get(view["styles"][0])[2]["content-type"]
    assert board.get("/games/nh/view.js")[0] == 200, "the games of the site have theirs, too"
    assert board.get("/games/none/view.js")[0] == 404 and board.get("/games/kuhn/view.js")[0] == 404


def test_a_game_without_a_view_of_its_own(corner):
    with Ringside("kuhn", corner, None) as ring:
        assert json.loads(ring.get(ring.api)[1])["view"] is None
        assert ring.get("/games/kuhn/view.js")[0] == 404


def test_a_games_folder_gives_what_a_page_needs_and_nothing_else(corner, tmp_path, monkeypatch):
    folder = tmp_path / "its package"
    (folder / "parts").mkdir(parents=True)
    (tmp_path / "secret.js").write_text("secret")
    for name in ("view.js", "parts/more.js", "picture.svg", "rules.py", ".hidden.js", "notes"):
        (folder / name).write_text("")
    (folder / "linked.js").symlink_to(tmp_path / "secret.js")
    own = replace(registry.find("kuhn"), name="a game", presentation=Presentation(page=PageView(folder)))
    monkeypatch.setattr(registry, "find", lambda name: own)
    with Ringside("a game", corner, None) as ring:
        assert json.loads(ring.get(ring.api)[1])["view"]["module"] == "/games/a%20game/view.js"
        for name in ("view.js", "parts/more.js", "picture.svg"):
            assert ring.get(f"/games/a%20game/{name}")[0] == 200, name
        for name in ("rules.py", ".hidden.js", "notes", "", "parts", "linked.js", "../secret.js", "%2e%2e/secret.js",
                     "..%2fsecret.js", "parts/../../secret.js", "..%5csecret.js", f"/{tmp_path}/secret.js",
                     f"%2f{tmp_path}/secret.js", "view.js%00.py", "parts/%2e%2e/%2e%2e/secret.js"):  # fmt: skip
            status, body, _ = ring.get(f"/games/a%20game/{name}")
            assert status == 404 and b"secret" not in body, name


PAGES = [game.presentation.page.folder for game in registry.every() if game.presentation.page is not None]


def test_nothing_is_loaded_from_elsewhere():
    """No part of the page names another host."""
    from pvp_ml.web.site import STATIC

    assert len(PAGES) >= 3
    for path in (file for folder in (STATIC, *PAGES) for file in folder.rglob("*.*")):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text, path


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80", "Origin": "http://evil.example:80"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "file://"},
    ],
)
def test_strangers_are_refused(board, headers):
    assert board.get("/", **headers)[0] == 403
    assert board.get(f"{board.api}/frames", "POST", b"{}", **headers)[0] == 403
    with pytest.raises(Refused):
        board.socket(origin=headers.get("Origin"), host=headers.get("Host"))


def test_our_own_page_may_ask(board):
    origin = f"http://127.0.0.1:{board.port}"
    assert board.get(board.api, Origin=origin)[0] == 200
    with board.socket(origin=origin) as socket:
        socket.send(type="watch", room="none")
        assert socket.hear()["message"].startswith("there is no match 'none'")


def test_beyond_this_machine_a_token_is_needed(corner):
    with pytest.raises(UserError, match="without a token"):
        Guard(ServerConfig(host="0.0.0.0"))
    secret = "correct horse battery"
    with Ringside("connect4", corner, None, token=secret, host="0.0.0.0") as ring:
        assert ring.get("/")[0] == 200  # the page itself holds no secrets
        assert ring.get(ring.api)[0] == 403
        assert ring.get(ring.api, Authorization="Bearer wrong")[0] == 403
        assert ring.get(ring.api, Authorization=f"Bearer {secret}")[0] == 200
        assert ring.get(ring.api, Authorization=f"Bearer {secret}", Origin="http://evil.example")[0] == 403
        for token in ("", "wrong"):
            with pytest.raises(Refused):
                ring.socket(token=token)
        with ring.socket(token=secret) as socket:
            socket.send(type="start", seats=["you", "bot:random"])
            assert socket.hear()["type"] == "room"


def test_a_match_over_the_socket(board):
    """Clicks to the end; illegal orders are refused with a reason and change nothing."""
    with board.socket() as socket, board.socket() as friend:
        socket.send(type="start", seats=["you", "bot:random"], seed=5, tick_ms=40)
        room = socket.hear("room")
        assert room["names"] == ["You", "random"] and room["waits"] and room["driving"]
        friend.send(type="watch", room=room["room"])
        assert friend.hear("room")["driving"] is False
        friend.send(type="order", step=0, picks=[["column", "1"]])
        assert "you are spectating" in friend.hear("refused")["message"]
        frame = socket.hear("frame")
        illegal = 0
        while frame["result"] is None:
            if frame["legal"] is None:
                frame = socket.hear("frame")
                continue
            full = [c for c in range(7) if frame["legal"][c] == "0"]
            for column in full[:1]:
                socket.send(type="order", step=frame["step"], picks=[["column", str(column + 1)]])
                assert socket.hear("refused")["message"] == f"'{column + 1}' is not legal now"
                illegal += 1
            column = frame["legal"].index("1")
            socket.send(type="order", step=frame["step"], picks=[["column", str(column + 1)]])
            frame = socket.hear("frame")
        end = socket.hear("end")
        assert end["result"] == frame["result"] and end["decisions"] > 3
        seen = [friend.hear("frame")["step"] for _ in range(frame["step"] + 1)]
        assert seen == list(range(frame["step"] + 1)) and friend.hear("end")["result"] == end["result"]
    status, data, headers = board.get(f"{board.api}/matches/{room['room']}/replay")
    assert status == 200 and "attachment" in headers["content-disposition"]
    replay = json.loads(board.get(f"{board.api}/frames?analyst=model:Stones", "POST", data)[1])
    assert len(replay["frames"]) == frame["step"] + 1 and replay["frames"][-1]["scene"] == frame["scene"]
    assert end["replay"] in [r["name"] for r in json.loads(board.get(f"{board.api}/replays")[1])]
    assert board.get(f"{board.api}/replays/{end['replay']}")[1] == data
    assert board.get(f"{board.api}/replays/..%2f..%2fsecret")[0] == 404


def test_replays_that_are_none_are_refused_with_a_reason(board):
    for body in (b"", b"{}", b"[]", b"\xff\xfe", b'{"format": 9}', b"[" * 60_000, b'{"format":1,"game":"nh"}'):
        status, answer, _ = board.get(f"{board.api}/frames", "POST", body)
        assert status == 400 and json.loads(answer)["error"]
    status, answer, _ = board.get(f"{board.api}/frames", "POST", b"x" * ((4 << 20) + 1))
    assert status == 413


def test_one_message_may_be_so_long(board):
    with board.socket() as socket:
        socket.send_text("x" * (MAX_MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionError, match="1009"):
            socket.hear()


def test_a_page_that_does_not_stop_talking_is_shown_out(fight):
    with fight.socket() as socket:
        for _ in range(130):
            socket.send(type="leave")
        assert socket.hear()["message"] == "too many messages; slow down"
        with pytest.raises((ConnectionError, OSError)):
            for _ in range(2000):
                socket.send(type="leave")
            while True:
                socket.hear()


def test_the_allowance_comes_back():
    now = [0.0]
    allowance = Allowance(10.0, 20.0, lambda: now[0])
    assert sum(allowance.take() for _ in range(50)) == 20
    now[0] = 1.0
    assert sum(allowance.take() for _ in range(50)) == 10 and not allowance.is_abused
    for _ in range(Allowance.PATIENCE + 1):
        allowance.take()
    assert allowance.is_abused


def test_a_starter_who_reconnects_goes_on(fight):
    socket = fight.socket()
    socket.send(type="start", seats=["you", "bot:nh-bot"], tick_ms=40)
    room = socket.hear("room")
    for _ in range(5):
        socket.hear("frame")
    socket.close()
    time.sleep(0.2)
    with fight.socket() as again:
        again.send(type="watch", room=room["room"], key=room["key"])
        back = again.hear("room")
        assert back["driving"] and back["paused"] and back["steps"] >= 5
        steps = [again.hear("frame")["step"] for _ in range(back["steps"])]
        again.send(type="pace", tick_ms=40, paused=False)
        assert again.hear("frame")["step"] == steps[-1] + 1 == back["steps"]
        again.send(type="leave")


def test_an_order_that_comes_too_late_is_no_mistake(board):
    with board.socket() as socket:
        socket.send(type="start", seats=["you", "bot:random"], scenario="seat0-starts", tick_ms=10_000)
        frame = socket.hear("frame")
        socket.send(type="order", step=frame["step"], picks=[["column", "1"]])
        assert socket.hear("frame")["legal"] is None  # the bot's turn
        socket.send(type="order", step=frame["step"], picks=[["column", "1"]])
        assert socket.hear("late")["message"] == "it is not your turn"
        socket.send(type="order", step=frame["step"] + 1, picks=[["column", "1"]])
        assert socket.hear("refused")["message"] == "it is not your turn"


# --- nonsense --------------------------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(deadline=None, max_examples=100)
@given(st.one_of(st.text(max_size=60), st.binary(max_size=60), JUNK.map(lambda v: json.dumps(v, default=str))))
def test_whatever_is_sent_is_a_message_or_a_sentence(text):
    try:
        read_message(text)
    except UserError as error:
        assert str(error)


def test_messages_are_read():
    assert read_message('{"type":"order","step":3,"picks":[["a","b"]]}') == Order(3, [("a", "b")])
    assert read_message('{"type":"start","seats":["you"],"seed":null}') == Start(["you"])
    for text, words in (
        ('{"type":"order","step":-1,"picks":[]}', "step"),
        ('{"type":"order","step":1,"picks":[],"x":1}', "x"),
        ('{"type":"fly"}', "fly"),
        ('{"type":"pace","tick_ms":1}', "tick_ms"),
        ("[" * 5000, "not a message"),
    ):
        with pytest.raises(UserError, match=words):
            read_message(text)


def nonsense(rng, facts, room):
    """Bytes of every kind: noise, broken JSON, messages with wrong and with hostile parts."""
    heads = [(h["name"], c) for h in facts["heads"] for c in h["choices"]]
    words = ["", "you", "bot:random", "model:Stones", "x" * 90, "\u202e", "__proto__", "../..", room]

    def some(options):
        return [rng.choice(options) for _ in range(rng.randrange(4))]

    kinds = {
        "start": {
            "seats": some(words),
            "settings": dict.fromkeys(some(words), True),
            "seed": rng.choice([None, 3, -1]),
        },
        "order": {"step": rng.choice([0, 1, 5, -1, 2**40]), "picks": some(heads)},
        "pace": {"tick_ms": rng.choice([40, 0, 600, 1e9, "fast"]), "paused": rng.choice([True, False, None])},
        "step": {},
        "watch": {"room": rng.choice(words), "key": rng.choice(words)},
        "leave": {},
        "fly": {},
    }
    what = rng.randrange(10)
    if what == 0:
        return rng.randbytes(rng.randrange(200))
    if what == 1:
        return "".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(0xA0, 0x2FF)])) for _ in range(20))
    if what == 2:
        return "[" * rng.randrange(3000)
    kind = rng.choice(list(kinds))
    text = json.dumps({"type": kind, **kinds[kind]})
    if what == 3:
        at = rng.randrange(len(text))
        return text[:at] + rng.choice(['"', "{", "\\u0000", "9" * 400, ""]) + text[at + 1 :]
    return text


def test_ten_thousand_messages_of_nonsense(board):
    """The server answers everything, closes nothing and plays on afterwards."""
    rng = random.Random(14)
    facts = board.facts()
    room, answers = "", 0
    with board.socket() as socket:
        for i in range(10_000):
            message = nonsense(rng, facts, room)
            if isinstance(message, bytes):
                socket.send_bytes(message)
            else:
                socket.send_text(message)
            if i % 250 == 249:  # a question between, so that neither side's buffer runs over
                socket.send(type="watch", room=f"ask-{i}")
                while True:
                    heard = socket.hear()
                    answers += 1
                    room = heard.get("room") or room
                    if heard["type"] == "refused" and f"no match 'ask-{i}'" in heard["message"]:
                        break
        assert socket.closed is None and answers > 3000
    with board.socket() as socket:
        socket.send(type="start", seats=["bot:random", "bot:tactician"], tick_ms=40)
        assert socket.hear("end")["result"]


@pytest.mark.parametrize("seed", range(40))
def test_broken_frames_end_one_connection_and_no_other(board, seed):
    rng = random.Random(seed)
    socket = board.socket()
    try:
        socket.raw(rng.randbytes(rng.randrange(1, 400)))
        socket.close()
    except OSError:
        pass
    assert board.get(board.api)[0] == 200
