"""Training of paper 003's networks on DGX-1 and GX8, replayed on 1 to 8 GPUs: its figures 12 and 13.

As a program it prints the tables:  python3 python/run.py plots.training --program build/linkcast
"""
from pathlib import Path

from . import common
from .common import BLUE, GREY, ORANGE

PLATFORMS = {"p100-dgx1": BLUE, "gx8": ORANGE}
GPUS = (1, 2, 4, 8)
LARGE = [(name, batch, {}) for name in ("alexnet", "googlenet") for batch in (256, 512)]
RESIDUAL = [("resnet_x", batch, {"x": x}) for batch in (16, 32, 64) for x in (1, 4, 16)]
# source: paper 003 (Gawande et al., 2017), section 4.3: AlexNet, 8 GPUs
PRINTED = {"p100-dgx1": 11.0, "gx8": 8.1}


def title(case: tuple) -> str:
    name, batch, options = case
    return f"{name}{'/' + str(options['x']) if options else ''}, batch {batch}"


def records(program: str) -> dict:
    cases = LARGE + RESIDUAL
    keys = [(title(case), platform, gpus) for case in cases for platform in PLATFORMS for gpus in GPUS]
    queries = [{"kind": "replay", "library": "nccl-1", "platform": platform, "trace": name, "options": {"gpus": gpus, "batch": batch, **options}}
               for name, batch, options in cases for platform in PLATFORMS for gpus in GPUS]
    answers = common.batch(program, queries)
    return {"rates": {key: 1 / answer["step_time_s"] for key, answer in zip(keys, answers, strict=True)},
            "provenance": common.provenance(answers[0])}


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    cases = [*LARGE, *(case for case in RESIDUAL if case[1] == 16)]
    figure, axes = plt.subplots(2, 4, figsize=(10.5, 5.6), sharex=True)
    figure.subplots_adjust(left=0.06, right=0.99, top=0.86, bottom=0.13, hspace=0.25, wspace=0.28)
    for axis, case in zip(axes.flat, cases, strict=False):
        for platform, colour in PLATFORMS.items():
            rates = [data["rates"][title(case), platform, gpus] for gpus in GPUS]
            axis.plot(GPUS, rates, "-o", ms=4, color=colour, label=f"{platform}, replayed")
            axis.plot(GPUS, [rates[0] * gpus for gpus in GPUS], ":", lw=0.9, color=GREY)
            if case == LARGE[0]:
                axis.plot(8, PRINTED[platform], "D", ms=5, mfc="white", mec=colour, label=f"{platform}, printed")
        axis.set_title(title(case), fontsize=8.5)
        axis.set(xticks=GPUS, xlim=(0, 8.6), ylim=(0, None))
    axes[0, 0].legend(fontsize=6.5)
    axes[1, 3].axis("off")
    for axis in axes[:, 0]:
        axis.set_ylabel("iterations/s")
    axes[1, 0].set_xlabel("GPUs")
    figure.suptitle("strong scaling of training: computation from a public benchmark's rate, all_reduces of nccl-2.3 "
                    "forecast (dotted: ideal)", fontsize=9.5)
    return common.save(plt, figure, data["provenance"], out)


def print_table(data: dict) -> None:
    print("iterations/s: DGX-1 / GX8  " + "  ".join(f"{gpus} GPU{'s' if gpus > 1 else ' '}".rjust(15) for gpus in GPUS)
          + "  DGX-1 ahead at 8")
    for case in LARGE + RESIDUAL:
        rates = [[data["rates"][title(case), platform, gpus] for platform in PLATFORMS] for gpus in GPUS]
        print(f"{title(case):27}" + "  ".join(f"{dgx:6.1f} / {gx8:6.1f}" for dgx, gx8 in rates)
              + f"  {100 * (rates[-1][0] / rates[-1][1] - 1):14.0f} %")
    dgx, gx8 = PRINTED.values()
    print(f"{'printed, alexnet':78}{dgx:6.1f} / {gx8:6.1f}  {100 * (dgx / gx8 - 1):14.0f} %")


if __name__ == "__main__":
    parser = common.options(__doc__)
    print_table(records(parser.parse_args().program))
