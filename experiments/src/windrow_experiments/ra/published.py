"""What [RA] prints: the numbers of its tables."""

from __future__ import annotations

from windrow_experiments.model import Cell, Table

__all__ = ["BREAK_EVEN", "RELATIVE", "table3", "table4"]

#: operator: where RA breaks even with ISS, and where it is 10 times as fast; None: never
BREAK_EVEN: dict[str, tuple[int | None, int | None]] = {
    "Count": (None, None),
    "Sum": (370, 5_200),
    "Sum<Double>": (290, 5_200),
    "Max": (260, 5_200),
    "Max<Double>": (130, 3_600),
    "ArithmeticMean": (10, 900),
    "MinCount": (200, 4_480),
    "SampleStdDev": (10, 700),
    "PopulationStdDev": (10, 700),
    "ArgMax": (130, 2_770),
    "ArgMax<Double>": (250, 5_810),
    "Collect": (None, None),
}

#: operator: time of AW over that of RA for windows of 8, 8K and 8M
RELATIVE = {
    "Sum": (1.02, 1.20, 1.36),
    "Max": (1.02, 1.25, 1.37),
    "ArithmeticMean": (1.05, 1.24, 1.39),
    "MinCount": (1.04, 1.23, 1.35),
    "PopulationStdDev": (1.06, 1.26, 1.37),
}


def table3() -> Table:
    rows: list[list[Cell]] = [
        [name, *("never" if size is None else size for size in sizes)] for name, sizes in BREAK_EVEN.items()
    ]
    note = "To the nearest ten. The baseline is the aggregate operator of IBM InfoSphere Streams."
    return Table("Table 3: smallest window", ["Operator", "break-even", "10x"], rows, "paper", note)


def table4() -> Table:
    rows: list[list[Cell]] = [[name, *ratios] for name, ratios in RELATIVE.items()]
    return Table("Table 4: time of AW / time of RA", ["Operator", "n = 8", "n = 8K", "n = 8M"], rows, "paper")
