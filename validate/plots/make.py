#!/usr/bin/env python3
"""Makes every figure:  python3 validate/plots/make.py --program build/linkcast --out reports"""
import argparse
from pathlib import Path

import all_reduce_by_gpus
import anti_locality
import collectives
import fabrics
import fresh_hardware
import launch_kinds
import noise
import overview
import p2p_fit
import patterns
import placement
import scaling
import training
import transfer
import what_if
import what_if_proof

FIGURES = {"p2p_fit": p2p_fit, "anti_locality": anti_locality, "all_reduce_by_gpus": all_reduce_by_gpus,
           "fresh_hardware": fresh_hardware, "patterns": patterns, "collectives": collectives, "launch_kinds": launch_kinds,
           "fabrics": fabrics, "scaling": scaling, "noise": noise, "what_if": what_if, "what_if_proof": what_if_proof, "transfer": transfer, "training": training,
           "placement": placement, "overview": overview}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/linkcast", help="linkcast")
    parser.add_argument("--out", default="reports", type=Path, help="folder")
    parser.add_argument("figure", nargs="*", help=f"default: all of {', '.join(FIGURES)}")
    options = parser.parse_args()
    for name in options.figure or FIGURES:
        if name not in FIGURES:
            parser.error(f"unknown figure '{name}': one of {', '.join(FIGURES)}")
        figure = FIGURES[name]
        print(figure.plot(figure.records(options.program), options.out / f"{name}.png"))


if __name__ == "__main__":
    main()
