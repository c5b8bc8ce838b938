"""HGX H200: predictions beside an occasion that no parameter was fitted to.

The picture is of the newest such occasion, or of --occasion. As a program it prints the figures of every occasion:
  python3 python/run.py plots.fresh_hardware [--occasion 20261121b] [--out reports/fresh_hardware.png]
"""
from pathlib import Path

from . import common, occasions
from .common import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW

TRANSPORTS = {"local": GREY, "host": GREEN, "staged": ORANGE, "relay": PURPLE, "peer": BLUE, "flows": YELLOW}
LABELS = {"local": "inside one GPU", "host": "host memory", "staged": "staged", "relay": "relay",
          "peer": "peer (NVLink)", "flows": "several at once"}
COLOURS = {"copies in a queue": BLUE, "single copies": SKY, "flows": YELLOW, "host copies": GREEN, "relays": PURPLE}
TARGETS = {"median": 0.02, "p95": 0.08}  # of the absolute relative error
BAND = (0.85, 0.95)                      # share of points wanted inside the 90 % interval
NOMINAL = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]
SIZES = range(2, 31, 4)  # powers of two


def records(program: str, occasion: str | None = None) -> dict:
    occasion = occasion or occasions.held_out()[-1]
    points = [point for point in occasions.compared(program, occasion) if point["held_out"]]
    seen = {gpu for fitted in occasions.fitted() for gpu in occasions.gpus_of(fitted)}
    again = len(seen & set(occasions.gpus_of(occasion)))
    return {"occasion": occasion, "points": points, "date": occasions.date_of(occasion), "fitted": occasions.fitted(),
            "gpus": f"{again} of these GPUs were among them" if again else "on other GPUs",
            "provenance": occasions.version(program)}


def draw_scatter(axis, points: list[dict]) -> None:
    for transport, colour in TRANSPORTS.items():
        some = [point for point in points if point["transport"] == transport]
        axis.plot([1e6 * point["measured_s"] for point in some], [1e6 * point["predicted_s"] for point in some], "o", ms=2.6,
                  mew=0, alpha=0.55, color=colour, label=f"{LABELS[transport]} ({len(some)})")
    ends = [1, 1e5]
    axis.plot(ends, ends, color="black", lw=0.8)
    axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="measured time [us]", ylabel="predicted time [us]")
    axis.set_title("every held-out point", fontsize=9)
    legend = axis.legend(loc="upper left", fontsize=7.5, markerscale=2)
    for handle in legend.get_lines():
        handle.set_alpha(1)


def draw_coverage(axis, points: list[dict]) -> None:
    axis.plot([0, 100], [0, 100], color="black", lw=0.8)
    low, high = (100 * share for share in BAND)
    axis.fill_between([88, 92], low, high, color=GREY, alpha=0.35, lw=0, label=f"wanted: {low:.0f} to {high:.0f} % at 90 %")
    for name, colour in [*COLOURS.items(), ("all", "black")]:
        some = [point for point in points if name in ("all", point["kind"])]
        if not some:
            continue
        shares = [100 * occasions.coverage(some, nominal) for nominal in NOMINAL]
        axis.plot([100 * nominal for nominal in NOMINAL], shares, "-o" if name != "all" else "--", ms=3, lw=1.2,
                  color=colour, label=f"{name}: {shares[NOMINAL.index(0.9)]:.0f} % at 90 %")
    axis.set(xlim=(0, 101), ylim=(0, 101), xlabel="nominal share inside the interval [%]",
             ylabel="observed share of points inside [%]")
    axis.set_title("are the error bars honest? (above the line: too wide)", fontsize=9)
    axis.legend(loc="upper left", fontsize=7.5)


def draw_errors(axis, points: list[dict]) -> None:
    for shift, (transport, colour) in enumerate(TRANSPORTS.items()):
        some = [point for point in points if point["transport"] == transport]
        sizes = [point["size_B"] * 2 ** (0.18 * (shift - 2.5)) for point in some]  # side by side
        axis.plot(sizes, [100 * point["rel_error"] for point in some], "o", ms=2.4, mew=0, alpha=0.5, color=colour)
    for name, style in (("median", "-"), ("p95", "--")):
        for sign in (-1, 1):
            axis.axhline(sign * 100 * TARGETS[name], color="black", lw=0.8, ls=style)
    ticks = [-50, -20, -8, -2, 0, 2, 8, 20, 50]
    axis.set_yscale("symlog", linthresh=8, linscale=1.6)
    axis.set_yticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])
    axis.set_yticks([], minor=True)
    common.size_ticks(axis, SIZES)
    axis.set(xlim=(2**1.2, 2**30.8), ylim=(-75, 75), xlabel="bytes of one copy (points of one size side by side, by transport)",
             ylabel="predicted / measured - 1 [%]")
    axis.set_title("colours as above; solid lines: 2 % (target of the median), dashed: 8 % (target of the 95th percentile); "
                   "scale linear to 8 %", fontsize=9)


def plot(data: dict, out: Path) -> Path:
    """Each point is a median over its repetitions."""
    plt = common.pyplot()
    figure = plt.figure(figsize=(9.6, 9.2))
    grid = figure.add_gridspec(2, 2, height_ratios=[1.25, 1], left=0.07, right=0.985, top=0.9, bottom=0.085, hspace=0.24,
                               wspace=0.17)
    points = data["points"]
    draw_scatter(figure.add_subplot(grid[0, 0]), points)
    draw_coverage(figure.add_subplot(grid[0, 1]), points)
    draw_errors(figure.add_subplot(grid[1, :]), points)
    row = common.summary(points)
    figure.suptitle(f"HGX H200, occasion {data['occasion']} ({data['date']}), {len(points)} points: all HELD OUT; "
                    f"fitted on {', '.join(data['fitted'])}, {data['gpus']}\nabsolute error: median {100 * row['median']:.1f} %, "
                    f"95th percentile {100 * row['p95']:.1f} %; inside the 90 % interval: {100 * row['inside']:.0f} %",
                    fontsize=9.5)
    footer = f"records: {occasions.folder()}/{data['occasion']}-*.json, parameters {occasions.MACHINE}; {data['provenance']}"
    return common.save(plt, figure, footer, out)


def print_table(program: str, chosen: list[str]) -> None:
    print("occasion   evidence  kind               points    median       p95   inside 90 %")
    for occasion in chosen:
        points = occasions.compared(program, occasion)
        for evidence in ("fitted", "held out"):
            mine = [point for point in points if point["held_out"] == (evidence == "held out")]
            rows = {kind: [point for point in mine if point["kind"] == kind] for kind in occasions.KINDS.values()}
            rows["queue and flows"] = rows["copies in a queue"] + rows["flows"]
            for kind, some in (rows | {"all": mine}).items():
                if not some or (kind == "queue and flows" and not rows["flows"]):
                    continue
                row = common.summary(some)
                print(f"{occasion:9}  {evidence:8}  {kind:17}  {row['points']:6}  {100 * row['median']:6.2f} %"
                      f"  {100 * row['p95']:6.2f} %  {100 * row['inside']:10.1f} %")


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("--occasion", action="append", help="default: all that were measured")
    parser.add_argument("--out", type=Path, help="draw the picture of the last occasion instead")
    options = parser.parse_args()
    if options.out:
        print(plot(records(options.program, (options.occasion or [None])[-1]), options.out))
    else:
        print_table(options.program, options.occasion or occasions.measured())


if __name__ == "__main__":
    main()
