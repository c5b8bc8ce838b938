#!/usr/bin/env python3
"""linkcast init: asks nvidia-smi or rocm-smi, or takes what they printed; one clear line where there is nothing."""
import json
import os
import unittest
from pathlib import Path

from program import ROOT, InFolder, main, run

INPUT = ROOT / "tests/input/import"
NVIDIA = f"""#!/bin/sh
case "$*" in
"topo -m") cat {INPUT}/topo-h200.txt;;
"-L") grep ^GPU {INPUT}/nvlink-h200.txt;;
"nvlink -s") cat {INPUT}/nvlink-h200.txt;;
*query-gpu*) for i in 0 1 2 3; do echo "$i, 00000000:${{i}}B:00.0, 5, 8"; done;;
esac
"""
AMD = f"""#!/bin/sh
case "$*" in
"--showtopo") cat {INPUT}/rocm-topo.txt;;
"--showproductname --showbus") printf "GPU[%d] : Card Series: AMD Instinct MI300X\\n" 0 1;;
esac
"""


class Init(InFolder):
    def tool(self, name: str, text: str) -> dict:
        """PATH with this tool before all others."""
        path = self.write(name, text)
        path.chmod(0o755)
        return {"PATH": f"{self.folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}

    def init(self, *words: object, env: dict | None = None):
        return run("init", *words, folder=self.folder, env=env)

    def gpus(self, name: str) -> list[dict]:
        record = json.loads((self.folder / "box" / name).read_text())
        return [device for device in record["devices"] if device["kind"] == "gpu"]

    def test_a_machine_is_asked(self):
        result = self.init("--out", "box", "--machine", "mine", env=self.tool("nvidia-smi", NVIDIA))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("found: 4 x NVIDIA H200; NVLink 4 through a switch; PCIe 5", result.stdout)
        self.assertIn("inherited from hgx-h200 (same GPU H200", result.stdout)
        self.assertIn("; measure: ", result.stdout)
        gpus = self.gpus("mine-topology.json")
        self.assertEqual([gpu["bus_id"] for gpu in gpus], [f"0000:{i}b:00.0" for i in range(4)])
        self.assertTrue(gpus[2]["uuid"].startswith("GPU-00000000"))
        topology = json.loads((self.folder / "box/mine-topology.json").read_text())
        self.assertEqual({cable["bandwidth"] for cable in topology["cables"] if cable["kind"] == "pcie5"}, {"31.508 GB/s"})
        following = result.stdout.splitlines()[-1].removeprefix("next: linkcast ").split()
        answer = run(*following, folder=self.folder)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        copy = run("predict", "p2p", "-p", "box/mine.json", "--src", "1B:00.0", "--dst", gpus[2]["uuid"], "--size", "1MiB", folder=self.folder)
        self.assertIn("gpu1->baseboard0  baseboard0->gpu2", copy.stdout)
        both = [run("import", "rccl-tests", INPUT / "rccl-tests.txt", "--machine", "mine", "--option", "gpus=4", "--topology", f"box/{name}",
                    folder=self.folder) for name in ("mine.json", "mine-topology.json")]
        self.assertEqual(both[0].stderr, both[1].stderr)
        self.assertIn("--topology: mine has GPUs 'NVIDIA H200', the file names 'AMD Instinct MI300X'", both[0].stderr)
        again = self.init("--out", "box", "--machine", "mine", env=self.tool("nvidia-smi", NVIDIA))
        self.assert_refused(again, "set --force to replace it")
        forced = self.init("--out", "box", "--machine", "mine", "--force", env=self.tool("nvidia-smi", NVIDIA))
        self.assertEqual(forced.returncode, 0, forced.stderr)

    def test_amd(self):
        result = self.init("--out", "box", "--machine", "mi", env=self.tool("rocm-smi", AMD))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("found: 2 x AMD Instinct MI300X; Infinity Fabric from GPU to GPU", result.stdout)
        self.assertIn("inherited from lumi (", result.stdout)
        pasted = self.init(INPUT / "rocm-topo.txt", "--option", "gpu=MI300X", "--machine", "pasted")
        self.assertEqual(pasted.returncode, 0, pasted.stderr)

    def test_pasted_outputs_in_any_order_and_in_one_file(self):
        lists, table = (INPUT / "nvlink-h200.txt").read_text(), (INPUT / "topo-h200.txt").read_text()
        all_in_one = self.write("all.txt", "$ nvidia-smi nvlink -s\n" + lists + table +
                                "".join(line + "\n" for line in lists.splitlines() if line.startswith("GPU")))
        for files in ((INPUT / "nvlink-h200.txt", INPUT / "topo-h200.txt"), (all_in_one,)):
            result = self.init(*files, "--out", "a folder", "--machine", f"n{len(files)}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("found: 4 x NVIDIA H200; NVLink 4", result.stdout)
        self.assertIn("'a folder/n1.json'", result.stdout)

    def test_nothing_there(self):
        none = {"PATH": str(self.folder)}
        self.assert_refused(self.init(env=none), "no GPUs here: neither nvidia-smi nor rocm-smi nor amd-smi is on the PATH")
        failing = "#!/bin/sh\necho NVIDIA-SMI has failed because it could not communicate with the driver\nexit 9\n"
        self.assert_refused(self.init(env=self.tool("nvidia-smi", failing)), "nvidia-smi shows no GPUs: NVIDIA-SMI has failed")
        self.assert_refused(self.init(INPUT / "nvlink-h200.txt"), "nothing says what joins them")
        self.assert_refused(self.init(INPUT / "p2p-p100-cuda8.txt"), "is no file for init, by what it holds: linkcast diagnose")
        self.assert_refused(self.init(INPUT / "topo-h200.txt", INPUT / "topo-h200.txt"), "is of the same format as")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["nvidia-smi"])


if __name__ == "__main__":
    main()
