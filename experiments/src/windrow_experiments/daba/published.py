"""What [DABA] prints: the numbers of its tables."""

from __future__ import annotations

from windrow_experiments.model import Cell, Table

__all__ = ["BREAK_EVEN", "LATENCY", "table2", "table3"]

#: operator: mean and standard deviation, in cycles, of Two-Stacks, FOA, IOA, DABA
LATENCY = {
    "Sum": ((127, 2_980), (250, 15_559), (1_824, 1_919), (193, 113)),
    "Max": ((125, 2_991), (332, 15_356), (1_831, 2_083), (200, 122)),
    "ArgMax": ((136, 3_214), (378, 18_693), (1_846, 1_925), (207, 137)),
    "MinCount": ((154, 4_463), (395, 20_150), (1_937, 2_103), (222, 157)),
    "ArithMean": ((165, 3_740), (397, 18_528), (1_898, 2_084), (237, 149)),
    "StdDev": ((200, 4_099), (469, 20_373), (1_943, 2_081), (274, 160)),
    "GeoMean": ((299, 3_777), (484, 18_171), (2_055, 2_100), (366, 168)),
    "Bloom": ((5_532, 298_982), (12_394, 310_698), (21_595, 14_691), (9_021, 4_249)),
}

#: operator: window sizes of Reactive, Two-Stacks, FOA, IOA, DABA; None: never
BREAK_EVEN = {
    "Sum": (1_024, 32, 128, 1_024, 112),
    "Max": (1_024, 28, 112, 1_024, 64),
    "ArgMax": (512, 28, 112, 512, 64),
    "MinCount": (512, 28, 64, 1_024, 48),
    "ArithMean": (1_024, 32, 128, 1_024, 112),
    "StdDev": (1_024, 32, 112, 1_024, 64),
    "GeoMean": (16, 2, 4, 16, 4),
    "Bloom": (16, 12, 28, 48, 28),
    "Collect": (None, None, None, None, None),
}


def table2() -> Table:
    names = ("Two-Stacks", "FOA", "IOA", "DABA")
    columns = ["Operator", *(f"{name} {what}" for name in names for what in ("mean", "std"))]
    rows: list[list[Cell]] = [
        [operator, *(n for pair in pairs for n in pair)] for operator, pairs in LATENCY.items()
    ]
    return Table(
        "Table 2: cycles of a round", columns, rows, "paper", "C++ and Standard ML, Xeon at 2.7 GHz."
    )


def table3() -> Table:
    columns = ["Operator", "Reactive", "Two-Stacks", "FOA", "IOA", "DABA"]
    rows: list[list[Cell]] = [
        [operator, *("never" if size is None else size for size in sizes)]
        for operator, sizes in BREAK_EVEN.items()
    ]
    return Table("Table 3: break-even window size against Recalc", columns, rows, "paper")
