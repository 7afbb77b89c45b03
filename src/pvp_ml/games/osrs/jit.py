"""How the kernels of this game are compiled: one decorator, and a cache folder that cannot go stale.

numba's own cache does not notice a change in a function that lives in another file, nor in a table that a kernel reads.
So the folder carries a hash of every kernel source and data file; a change compiles afresh. It lies in the user's cache
folder, hence it also works when the package folder is read-only. PVP_ML_CACHE_DIR moves it.
"""

from __future__ import annotations

import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
from filelock import FileLock, Timeout
from numba import njit

HERE = Path(__file__).parent
ENTRIES = ("step_rows", "show_rows")
"""Kernels that Python calls every step."""

OURS = "osrs"
"""Part of the linker's name of every kernel of this package."""


def user_cache_dir() -> Path:
    """Where this user's caches live: PVP_ML_CACHE_DIR, else the platform's habit."""
    if own := os.environ.get("PVP_ML_CACHE_DIR"):
        return Path(own)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "pvp-ml"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pvp-ml"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pvp-ml"


@cache
def source_hash() -> str:
    """Hash (16 hex digits) of everything that compiled code depends on, numba's version included."""
    digest = hashlib.sha256(numba.__version__.encode())
    kernels = [*HERE.glob("kernels_*.py"), *(HERE / name for name in ("state.py", "items.py", "jit.py"))]
    for path in sorted([*kernels, *(HERE / "data").glob("*.json")]):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_dir() -> Path:
    """The folder of this source's compiled kernels; a temporary one when the user's cannot be written."""
    wanted = user_cache_dir() / "kernels" / f"osrs-{source_hash()}"
    try:
        wanted.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="pvp-ml-kernels-"))
    return wanted if os.access(wanted, os.W_OK) else Path(tempfile.mkdtemp(prefix="pvp-ml-kernels-"))


def compile_once(play: Callable[[], object]) -> None:
    """Run `play`, which calls every kernel, unless that was done before; meanwhile other processes wait.

    Two that compiled at the same time would each take twice as long. Compiling makes millions of objects and hardly any
    rubbish, so the collector rests: a tenth less.
    """
    complete = cache_dir() / "complete"
    if numba.config.DISABLE_JIT or complete.exists():
        return
    lock = FileLock(cache_dir() / "lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        print("pvp-ml: waiting for another process that compiles the OSRS fights …", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        if not complete.exists():
            print("pvp-ml: compiling the OSRS fights, once, about a minute …", file=sys.stderr, flush=True)
            with _without_collector():
                play()
            complete.touch()
    finally:
        lock.release()


@contextmanager
def _without_collector() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile without the interpreter lock, with IEEE division, cached in `cache_dir()`. A no-op when the JIT is off.

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
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_dir())
    try:
        # the wrapper for callers from C is never used, and a twentieth of compiling
        made = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
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

    @intrinsic  # type: ignore[untyped-decorator]
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
