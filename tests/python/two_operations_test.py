#!/usr/bin/env python3
"""A box of which only all_reduce and all_gather were measured: its other operations, from what A100 know of them."""
import json

from program import ROOT, InFolder, main, run

H100 = ROOT / "calibrate/data/h100-pair"


class TwoOperations(InFolder):
    def test_other_seven(self):
        """Two H100 (20261126j): fitted to two operations, with the calibrations of A100 as prior; the other seven from
        1 MiB on were never seen. What the smallest messages cost, no all_reduce shows."""
        record = json.loads((H100 / "20261126j-nccl_ops.json").read_text())
        part = self.write("two.json", {**record, "library": "nccl-2.27",
                                       "points": [p for p in record["points"] if p["op"] in ("all_reduce", "all_gather")]})
        fit = run("calibrate", "fit", "--unmeasured", part, "--topology", H100 / "h100-pair-topology.json", "--inherit",
                  ROOT / "models/params/dgx-a100.json", ROOT / "models/params/abci-a100.json", "--library", "nccl-2.27",
                  "--bootstrap", 0, "--out", "box.json", folder=self.folder)
        self.assertEqual(fit.returncode, 0, fit.stderr)
        compared = json.loads(run("validate", "--against", H100 / "20261126j-nccl_ops.json", "--platform", self.folder / "box.json",
                                  "--json").stdout)["comparisons"][0]["groups"]
        errors = {row["transport"]: row["median_abs_rel_error"] for row in compared if row["sizes"] == "1 MiB and above"}
        self.assertEqual(len(errors), 9)
        for operation, error in errors.items():
            self.assertLess(error, 0.06, operation)


if __name__ == "__main__":
    main()
