"""How Numba compiles functions that only other compiled functions call.

By itself Numba makes each function ready to run: it is optimised with all that it calls, and becomes machine
code. A kernel is a dozen functions that end up inlined in one. So they are only linked into what calls them,
and LLVM optimises and translates once, when it has the whole kernel.

Invariant: what is linked is never called by its address, as it has none. A function that calls itself is
called by its address, so it is made ready to run. Importing this module imports Numba.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import AnnotateTypes, DumpParforDiagnostics, NativeLowering

__all__ = ["EntryCompiler", "LinkedCompiler"]

#: passes for people who read compiled code, and for loops that run in parallel
_UNUSED = {AnnotateTypes, DumpParforDiagnostics}
_ENVIRONMENT = "_ZN08NumbaEnv"


class _LinkedLibrary(JITCodeLibrary):
    """Code that waits to be linked into a kernel."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        if self._calls_itself():
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if self._calls_itself():
            super()._finalize_final_module()
            _set_environments(self)
            return
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def _calls_itself(self) -> bool:
        names = (variable.name for variable in self._final_module.global_variables)
        return any(name.startswith(RuntimeLinker.PREFIX) for name in names)


def _set_environments(library: Any) -> None:
    """Let functions find the Python objects that they refer to; what is linked has no address to write to
    until it is part of a kernel."""
    for variable in library._final_module.global_variables:
        if variable.name.startswith(_ENVIRONMENT):
            environment = lookup_environment(variable.name)
            if environment is not None:
                library.codegen.set_env(variable.name, environment)


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Lowers a function to what is linked into others."""

    _name = "windrow_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # callers find the function by this, where others have the function that Python calls
        name = object()
        state.targetctx.insert_user_function(name, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=name)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _EntryLowering(NativeLowering):
    """Lowers a function that Python calls."""

    _name = "windrow_entry_lowering"

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        _set_environments(state.library)
        return True


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """To compile a kernel makes many objects that live for a second: to look for cycles among them, and among
    all that the program has, takes time and finds next to nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Compiler(CompilerBase):
    lowering: Any

    def compile_extra(self, func: Any) -> Any:
        with _no_collections():  # Numba compiles in one thread at a time
            return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        """Numba's own passes, with another one for lowering."""
        passes = PassManager("nopython")
        for each, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if each not in _UNUSED:
                passes.add_pass(self.lowering if each is NativeLowering else each, description)
        passes.finalize()
        return [passes]


class LinkedCompiler(_Compiler):
    """For functions that compiled functions call."""

    lowering = _LinkedLowering


class EntryCompiler(_Compiler):
    """For functions that Python calls, and that call linked ones."""

    lowering = _EntryLowering
