"""Policies through onnxruntime. The only module that imports it; the extra `onnx` brings it.

The program is written here from the bundle's weights: a program that came with a file is never run.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError, pip_install
from pvp_ml.match import BoolArray, FloatArray
from pvp_ml.model.bundle import Bundle
from pvp_ml.model.onnx import onnx_program
from pvp_ml.model.sampling.heads import Heads
from pvp_ml.serve.runtimes import ProgramRuntime, RuntimeType


def is_available() -> bool:
    """Whether what the extra `onnx` brings is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("onnx", "onnxruntime"))


def make(bundle: Bundle) -> ProgramRuntime:
    """A runtime on one thread of the processor."""
    try:
        import onnxruntime
    except ImportError as error:
        raise UserError("engine 'onnx' needs onnxruntime", pip_install("onnx")) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    program = onnx_program(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer)
    session = onnxruntime.InferenceSession(program, options, providers=["CPUExecutionProvider"])

    def run(
        obs: FloatArray, mask: BoolArray, noise: FloatArray, memory: FloatArray | None
    ) -> tuple[npt.NDArray[np.int64], FloatArray | None]:
        inputs = {"obs": obs, "mask": mask, "noise": noise}
        if memory is None:
            return session.run(["actions"], inputs)[0], None
        actions, after = session.run(["actions", "memory_after"], {**inputs, "memory": memory})
        return actions, after

    return ProgramRuntime(Heads.compile(bundle.interface.heads), run)


ONNX = RuntimeType("onnx", make)
