import re

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.show.view import tell, watch
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import Training, make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes


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
    config = VgcConfig(log_folder=str(tmp_path))
    said = list(watch(config, "heuristics", "random", "gen9championsvgc2026regma", 3))
    text = "\n".join(said)
    assert "Turn 1" in text and said[-2].strip() in ("Seat 1 wins", "Seat 2 wins") and said[-1].startswith("saved in ")
    log = (tmp_path / "match-00000001.log").read_text().splitlines()
    assert text.count("\nTurn ") == sum(line.startswith("|turn|") for line in log) > 1
    heads = [line for line in said if re.match(r"format: |Seat [12] (has|brings) ", line)]
    assert list(tell(log)) == [line for line in said[:-1] if line not in heads]
    assert heads[0] == "format: gen9championsvgc2026regma" and [line.count(",") for line in heads[1:]] == [5, 5, 3, 3]
    sent = {line.split("|")[2].split(": ")[1] for line in log if line.startswith("|switch|p1")}
    assert sent <= set(heads[3].removeprefix("Seat 1 brings ").split(", ")) and len(sent) >= 2
    page = (tmp_path / "match-00000001.html").read_text()
    assert log[5] in page and page.count("</script>") == 2 and 'class="battle-log-data"' in page
    inputs = (tmp_path / "match-00000001.input.log").read_text().splitlines()
    assert inputs[0].startswith(">start ") and any(line.startswith(">p1 team ") for line in inputs)


def test_watch_tells_a_battle_of_a_model_against_a_scripted_player(installation, tmp_path):
    spec, network = make_spec(VgcConfig()), NetworkConfig(trunk=(4,), encoder=(3,), embedding=2)
    tensors = {name: np.zeros(shape, np.float32) for name, shape in tensor_shapes(network, spec.interface).items()}
    training = Training(steps=0, seconds=0.0, run="r", seed=0, date="2026-11-16", versions={})
    bundle = make_bundle(spec, network, tensors, empty_normalizer(network, spec.interface), training, ())
    write_bundle(tmp_path / "m.zip", bundle)
    said = list(watch(VgcConfig(), str(tmp_path / "m.zip"), "player:random", "", 3))
    assert said[-1].strip() in ("Seat 1 wins", "Seat 2 wins") and said == list(
        watch(VgcConfig(), str(tmp_path / "m.zip"), "player:random", "", 3)
    )


def test_watch_refuses_what_is_nobody(installation):
    with pytest.raises(UserError, match="'my-model' is neither a bot nor"):
        next(watch(VgcConfig(), "my-model", "", "", 0))
