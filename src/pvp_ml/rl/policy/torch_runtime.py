"""A served policy in torch: for GPUs, and to compare with. Serving does not import this; the command wires it in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray
from pvp_ml.model.actor import Array, Program
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.policy.export import DecidingModule
from pvp_ml.spec import Interface


def torch_decider(network: NetworkConfig, interface: Interface, tensors: Mapping[str, FloatArray],
                  normalizer: Mapping[str, Array], device: str) -> Program:  # fmt: skip
    """obs, mask, noise, memory → actions and memory after, computed on a device such as cpu or cuda:0."""
    place = find_device(device)
    if place.type == "cpu":
        torch.set_num_threads(1)
    module = DecidingModule(network, interface, tensors, normalizer, place)

    def run(
        obs: FloatArray, mask: BoolArray, noise: FloatArray, memory: FloatArray | None
    ) -> tuple[npt.NDArray[np.int64], FloatArray | None]:
        given = (obs, mask, noise) if memory is None else (obs, mask, noise, memory)
        with torch.inference_mode():
            answer = module(*(torch.from_numpy(array).to(place) for array in given))
        return answer[0].cpu().numpy(), answer[2].cpu().numpy() if memory is not None else None

    return run


def find_device(name: str) -> torch.device:
    """The device, if torch can use it here."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0][:120]
        raise UserError(f"torch cannot use device '{name}' here: {reason}", "use cpu") from error
    return device
