"""A policy as an ONNX file. The only module that needs onnx; the extra `onnx` brings it."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

import torch

from pvp_ml.errors import UserError
from pvp_ml.rl.export import INPUTS, OUTPUTS, DecidingModule, example_inputs


def onnx_program(module: DecidingModule) -> bytes:
    """The module as an ONNX model for any number of rows: inputs obs, mask, noise [, memory]; outputs actions, log_prob
    [, memory_after].
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise UserError("exporting to ONNX needs onnx and onnxscript", 'install "pvp-ml[onnx]"') from error
    inputs = example_inputs(module.network, module.interface)
    count = len(inputs)
    rows = torch.export.Dim("rows", min=1)
    with torch.no_grad(), _quietly():
        program = torch.onnx.export(
            module, inputs, dynamo=True, dynamic_shapes=tuple({0: rows} for _ in inputs), verbose=False,
            input_names=list(INPUTS[:count]), output_names=list(OUTPUTS[: 3 if count == 4 else 2]),
        )  # fmt: skip
    assert program is not None
    data: bytes = program.model_proto.SerializeToString()
    return data


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """The exporter warns about its own insides; nobody who exports a policy can act on that."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", "torch.export")]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
