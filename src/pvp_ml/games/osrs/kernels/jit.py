"""How the kernels of this game are compiled: decorators for three kinds, and whole-program optimisation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from pvp_ml.compiled.kernel_set import KernelSet

HERE = Path(__file__).parent.parent
ENTRIES = ("step_rows", "show_rows")
"""Kernels that Python calls every step."""

OURS = "osrs"
"""Part of the linker's name of every kernel of this package."""


def _sources() -> list[Path]:
    """Everything that the compiled fights depend on."""
    kernels = [*(HERE / "kernels").glob("*.py"), *(HERE / name for name in ("state.py", "items.py", "ground.py"))]
    return [*kernels, *(path for path in (HERE / "data").iterdir() if path.is_file())]


FIGHTS = KernelSet("osrs", _sources)


def compile_once(play: Callable[[], object]) -> None:
    """Compile all kernels by `play`, which calls every one of them, unless that was done before."""
    FIGHTS.compile_once(play, "the OSRS fights")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile, and keep the result in the folder of `FIGHTS`. The plain function when numba's JIT is off.

    Without numba's runtime too: a kernel may not create arrays, and in turn row views are not reference counted, which
    otherwise costs more than the rules themselves.
    """
    return _compile(function, _nrt=False)


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """A kernel that is part of its caller: for writers called from one place, where passing rows costs more than work.

    Costs compile time in every caller above it, so it is not for kernels that call much.
    """
    return _compile(function, _nrt=False, forceinline=True)


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """A kernel that may create arrays; for what runs once a match."""
    return _compile(function)


def _compile(function: Callable[..., Any], **options: bool) -> Any:
    # the wrapper for callers from C is never used, and a twentieth of compiling
    made = FIGHTS.kernel(function, no_cfunc_wrapper=True, **options)
    if not numba.config.DISABLE_JIT:
        _share_between_constants(made)
    return made


def _share_between_constants(made: Any) -> None:
    """A kernel that is called with a 2 and with a 3 is one kernel. numba would compile a copy for each constant."""
    choose = made.get_call_template

    def choose_by_type(args: Any, kws: Any) -> Any:
        return choose(
            [numba.types.unliteral(a) for a in args], {name: numba.types.unliteral(a) for name, a in kws.items()}
        )

    made.get_call_template = choose_by_type


def _optimise_entries_as_a_whole() -> None:
    """What an entry kernel calls becomes private to it, so that LLVM may drop arguments that nobody reads.

    numba links called kernels so that others could call them, too. Then each call passes all of a row view, which is
    seven arguments, and a tick makes dozens of calls: a sixth of the time. Only our own entries are touched. numba has
    no option for it; should its internals move, kernels are as correct and slower, and a test says so.
    """
    import llvmlite.binding as llvm
    from numba.core.codegen import CPUCodeLibrary

    optimise = CPUCodeLibrary._optimize_final_module

    def optimise_as_a_whole(library: Any) -> None:
        for function in library._final_module.functions if library.name in ENTRIES else ():
            if OURS in function.name and function.linkage == llvm.Linkage.linkonce_odr:
                function.name += f".{library.name}"  # the loader would take it for the one that others call
                function.linkage = llvm.Linkage.internal
        optimise(library)

    CPUCodeLibrary._optimize_final_module = optimise_as_a_whole


if not numba.config.DISABLE_JIT:
    _optimise_entries_as_a_whole()


def _prefetching() -> Callable[..., None]:
    """`prefetch(array, offset)`: ask for the cache line at that byte of the array; nothing depends on it."""
    if numba.config.DISABLE_JIT:
        return lambda array, offset: None
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def prefetch(typing: Any, array: Any, offset: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            byte = ir.PointerType(ir.IntType(8))
            place = builder.gep(builder.bitcast(start, byte), [arguments[1]])
            whole = ir.IntType(32)
            ask = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
            builder.call(
                builder.module.declare_intrinsic("llvm.prefetch", [byte], ask),
                [place, whole(1), whole(3), whole(1)],
            )
            return context.get_dummy_value()

        return types.void(array, types.intp), generate

    return prefetch  # type: ignore[no-any-return]


prefetch = _prefetching()


SCRATCH = 2 * 104 * 104


def _scratching() -> Callable[[], Any]:
    """`scratch()`: SCRATCH int16 on the stack of the calling kernel, not cleared; kernels cannot create arrays."""
    if numba.config.DISABLE_JIT:
        return lambda: np.empty(SCRATCH, np.int16)
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    @intrinsic
    def scratch(typing: Any) -> Any:
        kind = types.Array(types.int16, 1, "C")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made = make_array(kind)(context, builder)
            cell, whole = ir.IntType(16), context.get_value_type(types.intp)
            start = cgutils.alloca_once(builder, cell, size=whole(SCRATCH))
            populate_array(made, start, [whole(SCRATCH)], [whole(2)], whole(2), None)
            return made._getvalue()

        return kind(), generate

    return scratch  # type: ignore[no-any-return]


scratch = _scratching()
