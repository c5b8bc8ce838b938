#!/usr/bin/env python3
"""Rows of calibrate/data/left_out.py: which points each is made of, and which forecasts have it."""
import importlib.util
import math
import unittest

from program import ROOT, main

SPEC = importlib.util.spec_from_file_location("left_out", ROOT / "calibrate/data/left_out.py")
left_out = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(left_out)
MIB = 1 << 20
NINETY_PERCENT = left_out.NINETY_PERCENT


def off_by(error: float, fitted: bool, doublings: float = 0, size_B: int = MIB) -> dict:
    """A point of NCCL between nodes that was forecast so much too slow in the logarithm, by parameters without errors."""
    return {"library": "nccl-2.8", "nodes": 8, "size_B": size_B, "measured_s": 1, "modelled_s": math.exp(error),
            "low_s": math.exp(error), "high_s": math.exp(error), "row_sigma": 0, "fitted": fitted, "doublings": doublings}


def sigma(rows: list, kind: str, size_B: int = MIB) -> float:
    return left_out.sigma_of(rows, kind, size_B)


class Rows(unittest.TestCase):
    def test_the_kind_s_row_is_of_operations_that_nothing_was_fitted_of(self) -> None:
        rows = left_out.rows_of_left_out([off_by(0.2, False), off_by(0.7, True)])
        self.assertAlmostEqual(sigma(rows, "left_out.nccl_network"), 0.2 / NINETY_PERCENT, delta=1e-3)

    def test_doublings_have_a_row_a_size_and_the_kind_s_row_besides_where_nothing_was_fitted(self) -> None:
        plain = [off_by(0.2, False)]
        for fitted, besides in ((True, 0), (False, sigma(left_out.rows_of_left_out(plain), "left_out.nccl_network"))):
            rows = left_out.rows_of_left_out(plain + left_out.FEW * [off_by(0.9, fitted, 2), off_by(0.1, True, 2, 8 * MIB)])
            expected = math.sqrt((0.9 / NINETY_PERCENT) ** 2 - besides**2) / 2
            self.assertAlmostEqual(sigma(rows, "left_out.nccl_nodes_doubled"), expected, delta=1e-3)
            self.assertAlmostEqual(sigma(rows, "left_out.nccl_nodes_doubled", 8 * MIB), 0.05 / NINETY_PERCENT, delta=1e-3)

    def test_a_size_of_few_points_has_the_row_of_all(self) -> None:
        rows = left_out.rows_of_left_out(left_out.FEW * [off_by(0.9, True, 2)] + [off_by(0.1, True, 2, 8 * MIB)])
        self.assertEqual(sigma(rows, "left_out.nccl_nodes_doubled", 8 * MIB), sigma(rows, "left_out.nccl_nodes_doubled"))

    def test_points_have_the_rows_that_their_forecasts_have(self) -> None:
        rows = [{"transport": f"left_out.{kind}", "from_B": 0, "to_B": 8 * MIB, "sigma_log": one}
                for kind, one in (("nccl_network", 0.3), ("nccl_nodes_doubled", 0.2))]
        for fitted, doublings, expected in ((True, 0, 0), (False, 0, 0.3), (True, 2, 0.4), (False, 2, 0.5)):
            self.assertAlmostEqual(left_out.beyond_rows(off_by(0, fitted, doublings), rows), expected)


if __name__ == "__main__":
    main()
