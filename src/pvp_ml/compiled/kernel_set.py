"""Compiled functions (kernels), and the folder that keeps them between starts.

numba's own cache misses a change in a function that lives in another file or in a table that a kernel reads, and it is
tied to the path of the source, so every checkout would compile again. Here a set of kernels shares one folder, named by
a hash of all their sources and of everything else that compiled code depends on. A change compiles afresh; a second
checkout with the same sources compiles nothing.
"""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from filelock import FileLock, Timeout
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from pvp_ml.compiled.progress import compiling
from pvp_ml.data_files import PACKAGE, cache_folder


class KernelSet:
    """Kernels that are compiled and kept together: `name` for people, `sources` are all files that decide the code."""

    def __init__(self, name: str, sources: Callable[[], Iterable[Path]]) -> None:
        self.name = name
        self._sources = sources
        self._kernels: list[Any] = []

    @cached_property
    def key(self) -> str:
        """16 hex digits: sources, Python, numba, processor, and numba's switches that change the code."""
        switches = (numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.CPU_NAME, numba.config.CPU_FEATURES)
        versions = (sys.implementation.cache_tag, numba.__version__, llvm.get_host_cpu_name(), platform.machine())
        digest = hashlib.sha256(repr((versions, switches)).encode())
        files = [(path.name, hashlib.sha256(path.read_bytes()).digest()) for path in (*self._sources(), Path(__file__))]
        digest.update(repr(sorted(files)).encode())
        return digest.hexdigest()[:16]

    @cached_property
    def folder(self) -> Path:
        """Where this set's compiled code is kept; a temporary folder when the user's cache cannot be written."""
        wanted = cache_folder() / "kernels" / f"{self.name}-{self.key}"
        try:
            wanted.mkdir(parents=True, exist_ok=True)
        except OSError:
            return Path(tempfile.mkdtemp(prefix="pvp-ml-kernels-"))
        return wanted if os.access(wanted, os.W_OK) else Path(tempfile.mkdtemp(prefix="pvp-ml-kernels-"))

    def kernel(self, function: Callable[..., Any], **options: Any) -> Any:
        """Compile without the interpreter lock, with IEEE division. The plain function when numba's JIT is off."""
        made = numba.njit(nogil=True, error_model="numpy", **options)(function)
        if not numba.config.DISABLE_JIT:
            made._cache = self._cache(function)
            self._kernels.append(made)
        return made

    def _cache(self, function: Callable[..., Any]) -> FunctionCache:
        folder = self.folder

        class Locator(_CacheLocator):  # type: ignore[misc]
            """One folder per module, whatever the path of its source."""

            _py_file = function.__code__.co_filename

            def get_cache_path(self) -> str:
                return str(folder / function.__module__)

            def get_source_stamp(self) -> str:
                return ""  # the folder's name carries it

            def get_disambiguator(self) -> str:
                return str(function.__code__.co_firstlineno)

            @classmethod
            def from_function(cls, py_func: object, py_file: str) -> _CacheLocator:
                locator = cls()
                locator.ensure_cache_path()
                return locator

        class Implementation(CompileResultCacheImpl):  # type: ignore[misc]
            _locator_classes = (Locator,)

        class Cache(FunctionCache):  # type: ignore[misc]
            _impl_class = Implementation

        return Cache(function)

    def compile_once(self, play: Callable[[], object], what: str) -> None:
        """Run `play`, which calls every kernel, unless that was done before; meanwhile other processes wait.

        Two that compiled at the same time would each take twice as long.
        """
        complete = self.folder / "complete"
        if numba.config.DISABLE_JIT or complete.exists():
            return
        lock = FileLock(self.folder / "lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            print(f"pvp-ml: waiting for another process to compile {what} …", file=sys.stderr, flush=True)
            lock.acquire()
        try:
            if not complete.exists():
                with compiling(what, self._compiled, len(self._kernels)), _without_collector():
                    play()
                complete.touch()
        finally:
            lock.release()

    def _compiled(self) -> int:
        """Kernels that have been compiled or loaded."""
        return sum(bool(kernel.signatures) for kernel in self._kernels)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Compiling makes millions of objects and hardly any garbage; without the collector it takes a tenth less time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _core_sources() -> Iterable[Path]:
    """Kernels outside the games: they call each other across packages."""
    found = (*PACKAGE.rglob("kernels/*.py"), *PACKAGE.rglob("kernels.py"), PACKAGE / "chance.py")
    return (path for path in found if "games" not in path.relative_to(PACKAGE).parts)


CORE = KernelSet("core", _core_sources)
"""Sampling, advantages, rows of matches."""
