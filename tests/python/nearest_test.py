#!/usr/bin/env python3
"""linkcast calibrate fit where no machine to inherit from is named: the nearest ones, chosen as init chooses them."""
import json

from program import ROOT, InFolder, main, run

H100 = ROOT / "calibrate/data/h100-pair"


class Inherited(InFolder):
    def test_nothing_falls_to_the_librarys_table(self):
        """Two H100 whose copies alone were measured: what four H100 know of NCCL is theirs, with the spread between machines."""
        fit = ("calibrate", "fit", H100 / "20261126a-p2p_copy.json", H100 / "20261126a-host_copy.json", "--topology",
               H100 / "hgx-h100-topology.json", "--bootstrap", 0, "--out")
        done = run(*fit, "own.json", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("what these data leave open is inherited from hgx-h100 (same GPU H100; ", done.stderr)
        own = json.loads((self.folder / "own.json").read_text())["parameters"]
        nearest = json.loads((ROOT / "models/params/hgx-h100.json").read_text())["parameters"]
        fitted = {name for name, parameter in nearest.items() if name.startswith("nccl.") and parameter["provenance"] == "fitted"}
        self.assertGreater(len(fitted), 5)
        self.assertEqual(fitted - set(own), set())
        for name in fitted:
            self.assertEqual(own[name]["provenance"], "inherited:hgx-h100", name)
            self.assertEqual(own[name]["value"], nearest[name]["value"], name)
            self.assertGreaterEqual(own[name]["stderr"], 0.25 * own[name]["value"] * (1 - 1e-9), name)
        self.assertEqual(own["transport.peer.r0.to_B"]["provenance"], "fitted")
        alone = run(*fit, "alone.json", "--inherit", "none", folder=self.folder)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        without = json.loads((self.folder / "alone.json").read_text())["parameters"]
        self.assertFalse({name for name in without if name.startswith("nccl.")})
        self.assertEqual({name: p for name, p in own.items() if p["provenance"] == "fitted"},
                         {name: p for name, p in without.items() if p["provenance"] == "fitted"})

    def test_by_name(self):
        fit = ("calibrate", "fit", ROOT / "calibrate/data/p100-dgx1/p2p-matrix.json", "--topology", "p100-dgx1", "--bootstrap", 0, "--out",
               "own.json")
        done = run(*fit, "--inherit", "nearest", folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"is inherited from (summitdev|gx8) \(same GPU P100")  # not of itself
        self.assertIn("nearest and none stand alone", run(*fit, "--inherit", "nearest", "dgx2", folder=self.folder).stderr)


if __name__ == "__main__":
    main()
