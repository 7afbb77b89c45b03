"""How a trainee sees and acts: names are checked, forbidden choices leave the mask, no head is left empty."""

import numpy as np
import pytest
from specimens import block_interface, plain_heads, plain_interface

from pvp_ml.errors import UserError
from pvp_ml.rl.exploration import allowed_choices, exploration, noise_deviations, restrict
from pvp_ml.rl.loss import PpoConfig
from pvp_ml.rl.schedule.schedule import Progress


def test_noise_names_features_and_refuses_ids_and_unknown_names():
    interface = plain_interface(plain_heads(2), 3)
    config = PpoConfig.model_validate({"observation_noise": {"f1": 0.5}})
    assert noise_deviations(interface, config, Progress()).tolist() == [0, 0.5, 0]
    assert noise_deviations(interface, PpoConfig(), Progress()) is None
    blocks = block_interface(plain_heads(2))
    repeated = noise_deviations(blocks, PpoConfig.model_validate({"observation_noise": {"boost": 1.0}}), Progress())
    assert repeated.sum() == 3.0
    with pytest.raises(UserError, match="did you mean 'boost'"):
        noise_deviations(blocks, PpoConfig.model_validate({"observation_noise": {"bost": 1.0}}), Progress())
    with pytest.raises(UserError, match="is an id"):
        noise_deviations(blocks, PpoConfig.model_validate({"observation_noise": {"move1": 1.0}}), Progress())


def test_forbidden_choices_leave_the_mask_but_never_an_empty_head():
    interface = plain_interface(plain_heads(2, 3), 1)
    second = interface.heads[1]
    config = PpoConfig.model_validate({"forbidden": {second.name: [second.choices[0], second.choices[2]]}})
    allowed = allowed_choices(interface, config)
    assert allowed.tolist() == [True, True, False, True, False]
    mask = np.array([[1, 1, 1, 1, 1], [0, 1, 1, 0, 1], [1, 0, 0, 0, 0]], np.bool_)
    kept = restrict(interface, mask, allowed)
    assert kept.astype(int).tolist() == [[1, 1, 0, 1, 0], [0, 1, 1, 0, 1], [1, 0, 0, 0, 0]]
    assert mask[0].all(), "the game's own mask stays as it is"
    assert exploration(interface, PpoConfig(), Progress()) is None


@pytest.mark.parametrize(
    ("forbidden", "says"),
    [
        ({"hed0": ["c0"]}, "there is no head 'hed0'"),
        ({"{0}": ["nope"]}, "no choice of head"),
        ({"{0}": "all"}, "leaves no choice"),
    ],
)
def test_forbidden_names_are_checked(forbidden, says):
    interface = plain_interface(plain_heads(2, 3), 1)
    head = interface.heads[0]
    choices = {k.format(head.name): (list(head.choices) if v == "all" else v) for k, v in forbidden.items()}
    with pytest.raises(UserError, match=says):
        allowed_choices(interface, PpoConfig.model_validate({"forbidden": choices}))
