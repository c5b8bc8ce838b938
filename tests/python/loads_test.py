#!/usr/bin/env python3
"""Loads of links by a collective: bytes by closed forms, shares of the time that no link exceeds."""
import unittest

from program import answers, main

SIZE_B = 2**26


def query(platform: str, op: str, **more: object) -> dict[str, object]:
    return {"kind": "collective", "platform": platform, "op": op, "size_B": SIZE_B, "utilisation": True, "launch": "graph", **more}


class Loads(unittest.TestCase):
    def test_bytes_of_rings(self):
        """Each rank passes 2 (n-1)/n of the buffer on, of all_gather half of it; on these wires all with one overhead."""
        shares = {}
        for op, rounds in (("all_reduce", 2), ("all_gather", 1), ("reduce_scatter", 1)):
            for ranks in (2, 3, 4):
                (answer,) = answers([query("v100-dgx1", op, gpus=list(range(ranks)), algorithm="ring", protocol="Simple")])
                total_B = sum(link["carried_B"] for link in answer["links"] if link["id"].startswith("gpu"))
                shares[op, ranks] = total_B / (rounds * (ranks - 1) * SIZE_B)
        overhead = shares["all_reduce", 2]
        self.assertTrue(1 <= overhead < 1.1, shares)
        for case, share in shares.items():
            self.assertAlmostEqual(share, overhead, delta=1e-9, msg=case)

    def test_shares_of_the_time(self):
        cases = [query("hgx-h100", "all_reduce", gpus=list(range(8))), query("hgx-h100", "alltoall", gpus=list(range(8)), nodes=4), query("hgx-h100", "all_reduce", gpus=list(range(8)), nodes=4),
                 query("rtx-4090", "all_reduce", gpus=[0, 1, 2, 3]), query("v100-dgx1", "broadcast", gpus=[0, 1, 4]),
                 query("leonardo", "all_reduce", nodes=4, library="mpi-openmpi"),
                 query("v100-dgx1", "all_reduce", gpus=[0, 1, 2, 3], **{"with": [{"op": "all_gather", "size_B": SIZE_B, "gpus": [2, 3, 6, 7]}]})]
        cases[5].pop("launch")  # MPI has none
        for case, answer in zip(cases, answers(cases)):
            with self.subTest(case):
                used = [link["utilisation"] for link in answer["links"]]
                self.assertEqual(used, sorted(used, reverse=True))
                self.assertTrue(all(0 < one <= 1 + 1e-9 for one in used), used[:3])
                ids = [link["id"] for link in answer["links"]]
                self.assertEqual(len(ids), len(set(ids)))
                if answer["bottleneck"] and "library" not in case and "with" not in case:
                    tightest = [link["utilisation"] for link in answer["links"] if link["id"] in answer["bottleneck"]]
                    self.assertAlmostEqual(max(tightest), used[0], delta=1e-6)

    def test_only_where_asked_for(self):
        plain = {**query("hgx-h100", "all_reduce", gpus=list(range(8))), "utilisation": False}
        (with_links,), (without,) = answers([query("hgx-h100", "all_reduce", gpus=list(range(8)))]), answers([plain])
        self.assertNotIn("links", without)
        self.assertEqual({key: value for key, value in with_links.items() if key not in ("links", "inputs")},
                         {key: value for key, value in without.items() if key != "inputs"})


if __name__ == "__main__":
    main()
