from pvp_ml.games.vgc.view import tell, watch


def test_lines_become_sentences():
    log = [
        "|switch|p1a: Rilla|Rillaboom, L50, M|100/100",
        "|turn|1",
        "|move|p1a: Rilla|Fake Out|p2b: Zacian",
        "|-damage|p2b: Zacian|82/100",
        "|-damage|p2b: Zacian|76/100|[from] item: Life Orb",
        "|-unboost|p2b: Zacian|atk|1",
        "|-weather|RainDance|[upkeep]",
        "|-terastallize|p2b: Zacian|Ghost",
        "|t:|1700000000",
        "|faint|p2b: Zacian",
        "|win|Seat 1",
    ]
    assert list(tell(log)) == [
        "Seat 1 sends out Rilla (100 %)",
        "\nTurn 1",
        "Rilla (seat 1) uses Fake Out on Zacian (seat 2)",
        "  Zacian (seat 2) falls to 82 %",
        "  Zacian (seat 2) falls to 76 % from Life Orb",
        "  Zacian (seat 2): Attack −1",
        "Zacian (seat 2) terastallises into Ghost",
        "Zacian (seat 2) faints",
        "\nSeat 1 wins",
    ]


def test_watch_tells_a_whole_battle_and_saves_it(installation, tmp_path):
    said = []
    log = watch("heuristics", "random", said.append, seed=3, log_folder=tmp_path)
    text = "\n".join(said)
    assert "Turn 1" in text and said[-2].strip() in ("Seat 1 wins", "Seat 2 wins") and said[-1].startswith("saved ")
    turns = sum(line.startswith("|turn|") for line in log.lines)
    assert text.count("\nTurn ") == turns > 1
    assert (tmp_path / "match-00000001.log").read_text().splitlines() == list(log.lines)
    assert log.inputs[0].startswith(">start ") and any(line.startswith(">p1 team ") for line in log.inputs)
