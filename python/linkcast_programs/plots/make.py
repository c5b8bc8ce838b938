"""Makes every figure:  python3 python/run.py plots.make --program build/linkcast --out reports"""
import importlib
from pathlib import Path

from . import common

FIGURES = ("p2p_fit", "anti_locality", "all_reduce_by_gpus", "fresh_hardware", "patterns", "collectives", "launch_kinds", "fabrics", "scaling",
           "noise", "what_if", "what_if_proof", "transfer", "training", "placement", "overview")  # modules of this package


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--out", default="reports", type=Path, help="folder")
    parser.add_argument("figure", nargs="*", help=f"default: all of {', '.join(FIGURES)}")
    options = parser.parse_args()
    for name in options.figure or FIGURES:
        if name not in FIGURES:
            parser.error(f"unknown figure '{name}': one of {', '.join(FIGURES)}")
        figure = importlib.import_module(f".{name}", __package__)
        print(figure.plot(figure.records(options.program), options.out / f"{name}.png"))


if __name__ == "__main__":
    main()
