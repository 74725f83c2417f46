"""Latency: the cycles of each single round, denoised.

The driver here calls the same steps as windrow's own, and reads the processor's time stamp counter before and
after each round. The same rounds run several times on fresh windows; the least of each round's times is what
the algorithm needs, and the rest is what the machine did meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Settings, heading, power, progress, table, verdict
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

import windrow as wr
from windrow.compile.native import jit_for, native

__all__ = ["measure", "show"]

ALGORITHMS = ("TwoStacksLite", "TwoStacks", "DABALite", "DABA")
MONOIDS = {"max": wr.max, "sum": wr.sum}
GOAL = 50.0
_GOAL_SIZE = 1 << 20


@intrinsic
def _cycles(typing_context: Any) -> Any:
    """The time stamp counter."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=kind), [])

    return types.int64(), generate


def _driver(jit: Any, operations: Any) -> Any:
    """Fills the window, then rolls the rest through it and notes what each round took."""
    insert, evict, query = operations.insert, operations.evict, operations.query

    @jit
    def process(
        ring: Any, mask: int, identity: Any, registers: Any, size: int, values: Any, out: Any, taken: Any
    ) -> Any:
        for i in range(size):
            registers = insert(ring, mask, identity, registers, values[i])
        for i in range(size, values.shape[0]):
            begun = _cycles()
            registers = evict(ring, mask, identity, registers)
            registers = insert(ring, mask, identity, registers, values[i])
            out[i - size] = query(ring, mask, identity, registers)
            taken[i - size] = _cycles() - begun
        return registers

    return process


@jit_for(checked=False)
def _nothing(taken: Any) -> None:
    for i in range(taken.shape[0]):
        begun = _cycles()
        taken[i] = _cycles() - begun


def measure(settings: Settings) -> dict[str, Any]:
    rows = []
    for size in settings.pick((1 << 14, 1 << 20), (1 << 14,)):
        for name in MONOIDS:
            for algorithm in ALGORITHMS:
                progress(f"latency: {algorithm} {name} {power(size)}")
                rows.append(_latency(algorithm, name, size, settings.pick(9, 5)))
    overhead = np.zeros(100_000, np.int64)
    _nothing(overhead)
    return {"rounds": rows, "counter": float(np.median(overhead))}


def _latency(algorithm: str, name: str, size: int, repeats: int) -> dict[str, Any]:
    monoid, kind = MONOIDS[name], getattr(wr.swag, algorithm)
    rounds = max(1_000_000, 2 * size + 1000)
    values = np.random.default_rng(3).random(size + rounds)
    form = native(monoid, (values.dtype,))
    assert form is not None
    process = _driver(form.jit, kind.operations(form.jit, form.combine))
    out, taken = np.zeros(rounds), np.zeros(rounds, np.int64)
    least = np.full(rounds, np.iinfo(np.int64).max)
    for repeat in range(repeats + 1):
        ring = np.zeros(size * kind.slots, form.layout.partial_dtype)
        process(ring, size - 1, form.identity, kind.start(form.identity), size, values, out, taken)
        if repeat:  # the first run warms up
            np.minimum(least, taken, out=least)
    mean, worst = float(least.mean()), int(least.max())
    wanted = algorithm == "DABALite" and size == _GOAL_SIZE
    return {
        "algorithm": algorithm,
        "monoid": name,
        "n": power(size),
        "rounds": rounds,
        "mean": mean,
        "std": float(least.std()),
        "p99.999": float(np.percentile(least, 99.999)),
        "max": worst,
        "max/mean": worst / mean,
        "verdict": verdict(worst / mean <= GOAL) if wanted else "",
    }


def show(result: dict[str, Any]) -> None:
    heading(
        "latency: cycles of a round (evict, insert, query), each the least of repeated runs",
        f"reading the counter takes about {result['counter']:.0f} cycles of each; "
        f"goal: DABALite at {power(_GOAL_SIZE)} never above {GOAL:.0f} times its mean",
    )
    formats = {"mean": ".1f", "std": ".1f", "p99.999": ",.0f", "max": ",d", "max/mean": ",.1f"}
    table(result["rounds"], rounds=",d", **formats)
