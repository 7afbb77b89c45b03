"""Model files in other programs' formats: ONNX, or a program of torch.export. Noise is an input of both."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.model.bundle import read_bundle
from pvp_ml.model.onnx import onnx_program

Format = Literal["onnx", "torch"]


def export_model(source: Path, out: Path, kind: Format) -> int:
    """Write the policy of a bundle in that format; returns the bytes written."""
    bundle = read_bundle(source)
    parts = bundle.network, bundle.interface, bundle.tensors, bundle.normalizer
    if kind == "onnx":
        data = onnx_program(*parts)
    else:
        from pvp_ml.rl.policy.export import DecidingModule, torch_program

        data = torch_program(DecidingModule(*parts))
    try:
        data_files.replace_file(out, data)
    except OSError as error:
        raise UserError(f"cannot write '{out}': {error.strerror}", "choose a writable folder") from error
    return len(data)
