"""From P100 to V100: copies of two V100 machines forecast with what was fitted on a P100 DGX-1 and the 25 % of the data sheet.

No parameter comes from a V100. Edits (validate/plots/transfer.json) give the P100 DGX-1 the wiring of the V100 machine and
scale its NVLinks; every copy measured on the V100 machine is then forecast, and all of them are held out.

  python3 python/run.py plots.transfer --table                 errors by class of pair
  python3 python/run.py plots.transfer --out reports/transfer.png
"""
import statistics
from pathlib import Path

from ..units import size_text
from . import common
from .common import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY

DATA = "validate/plots/transfer.json"
SMALL_B = 4096  # below, start-up decides
COLOURS = {"one link": SKY, "two links": BLUE, "through host, one switch": GREEN, "through host, other socket": ORANGE,
           "inside the GPU": PURPLE}


def compared(program: str, measured: str, platform: str, edits: list[str]) -> list[dict]:
    """Every point of a measurement with its forecast, as `linkcast validate --against` gives them."""
    more = ("--platform", platform, *(f"--edit={edit}" for edit in edits))
    return common.against(program, measured, more=more, held_out=True)[0]["points"]


def classes(shown: dict) -> dict:
    """Class of a copy by its two ends: links between them, else what its way through the host crosses."""
    ends = {frozenset((cable["a"], cable["b"])): cable for cable in shown["cables"]}
    sockets = {gpu: next(cpu for switch in (near(ends, gpu, "plx")) for cpu in near(ends, switch, "cpu"))
               for gpu in (device["id"] for device in shown["devices"] if device["kind"] == "gpu")}
    found = {}
    for a in sockets:
        for b in sockets:
            cable = ends.get(frozenset((a, b)))
            found["peer", a, b] = None if cable is None else ("one link", "two links")[cable["count"] - 1]
            found["staged", a, b] = "through host, one switch" if sockets[a] == sockets[b] else "through host, other socket"
            found["local", a, b] = "inside the GPU"
    return found


def near(ends: dict, device: str, prefix: str) -> list[str]:
    return [other for pair in ends if device in pair for other in pair - {device} if other.startswith(prefix)]


def records(program: str) -> dict:
    """points[machine] = [{class, small, measured_s, predicted_s, low_s, high_s, rel_error, size_B}]."""
    data = common.load(DATA)
    points, signalling, version = {}, {}, None
    for target, how in data["targets"].items():
        version = common.batch(program, [{"kind": "show", "platform": target}])[0]
        names = classes(version)

        def under(edits, how=how, names=names):
            return [point | {"class": names[point["transport"], *point["ends"].split(" -> ")], "small": point["size_B"] < SMALL_B}
                    for point in compared(program, how["measured"], data["from"], edits)]

        points[target] = under(how["edits"])
        signalling[target] = under([data["signalling"]["edit"], *how["edits"][1:]])
    return {"points": points, "signalling": signalling, "provenance": common.provenance(version)}


def groups(points: list[dict]) -> dict:
    """Points by (class, small), large copies first."""
    keys = sorted({(point["small"], list(COLOURS).index(point["class"])) for point in points})
    return {(list(COLOURS)[place], small): [p for p in points if p["small"] == small and p["class"] == list(COLOURS)[place]]
            for small, place in keys}


def row(points: list[dict]) -> dict:
    return {**common.summary(points), "worst": max((point["rel_error"] for point in points), key=abs),
            "measured": statistics.median(point["measured_s"] for point in points),
            "predicted": statistics.median(point["predicted_s"] for point in points)}


def table(program: str) -> None:
    data = records(program)
    print(f"{'machine':11s}{'class':27s}{'size':>7s}{'pairs':>7s}{'measured':>13s}{'forecast':>13s}{'median':>9s}{'p95':>9s}"
          f"{'worst':>10s}{'inside 90 %':>13s}")
    for title, part in (("", data["points"]), ("the same with the rates at which NVLinks signal, known afterwards:", data["signalling"])):
        print(title, end="\n" if title else "")
        for machine, points in part.items():
            for (name, small), some in groups(points).items():
                if title and (small or "link" not in name):
                    continue
                one, size = row(some), some[0]["size_B"]
                shown = [f"{1e6 * one[key]:.2f} us" if small else f"{size / one[key] / 1e9:.2f} GB/s" for key in ("measured", "predicted")]
                print(f"{machine:11s}{name:27s}{size_text(size):>7s}{len(some):7d}{shown[0]:>13s}{shown[1]:>13s}"
                      f"{100 * one['median']:7.1f} %{100 * one['p95']:7.1f} %{100 * one['worst']:+8.1f} %{100 * one['inside']:11.0f} %")


def draw_rates(axis, points: list[dict]) -> None:
    large = [point for point in points if not point["small"] and point["class"] != "inside the GPU"]
    for name, colour in COLOURS.items():
        some = [point for point in large if point["class"] == name]
        if some:
            measured, predicted, low, high = ([p["size_B"] / p[key] / 1e9 for p in some]
                                              for key in ("measured_s", "predicted_s", "high_s", "low_s"))
            spans = [[p - l for p, l in zip(predicted, low, strict=True)], [h - p for p, h in zip(predicted, high, strict=True)]]
            axis.errorbar(measured, predicted, yerr=spans, fmt="o", ms=4, lw=0.6, color=colour, label=f"{name} ({len(some)})")
    axis.axline((0, 0), slope=1, color=GREY, lw=0.9)
    axis.set(xlim=(5, 55), ylim=(5, 55), xlabel="measured on V100 [GB/s]", ylabel="forecast from P100 [GB/s], bars: 90 %")
    axis.legend(fontsize=7.5, loc="upper left")


def draw_errors(axis, points: dict) -> None:
    labels = []
    for machine, some in points.items():
        for (name, small), group in groups(some).items():
            errors = sorted(100 * point["rel_error"] for point in group)
            axis.plot(errors, [len(labels) + 0.5 * (k / max(1, len(errors) - 1) - 0.5) for k in range(len(errors))], ".",
                      ms=4, color=COLOURS[name])
            labels.append(f"{machine}: {name}, {size_text(group[0]['size_B'])}")
    axis.axvline(0, color=GREY, lw=0.9)
    axis.set_xscale("symlog", linthresh=10)
    axis.set_xticks([-30, -10, -5, 0, 5, 10, 30, 100, 400], ["-30", "-10", "-5", "0", "5", "10", "30", "100", "400"])
    axis.set_yticks(range(len(labels)), labels, fontsize=7.5)
    axis.invert_yaxis()
    axis.set_xlim(-50, 700)
    axis.set_xlabel("forecast / measured time - 1 [%]")


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure = plt.figure(figsize=(13, 4.8))
    for left, (machine, points) in zip((0.045, 0.325), data["points"].items(), strict=True):
        axis = figure.add_axes([left, 0.16, 0.23, 0.7])
        draw_rates(axis, points)
        axis.set_title(f"{machine}: copies of {size_text(max(p['size_B'] for p in points))}", fontsize=9)
    draw_errors(figure.add_axes([0.755, 0.16, 0.235, 0.7]), data["points"])
    figure.suptitle("V100 forecast from a P100 DGX-1: its parameters, the V100's wiring, NVLinks 25 % faster. No V100 figure went in: "
                    "all points are held out", fontsize=9.5)
    sources = [how["measured"] for how in common.load(DATA)["targets"].values()]
    return common.save(plt, figure, f"records: {', '.join(sources)}; edits {DATA}; parameters p100-dgx1; {data['provenance']}", out)


def main() -> None:
    parser = common.options(__doc__)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--table", action="store_true")
    how.add_argument("--out", type=Path, help="PNG file")
    options = parser.parse_args()
    if options.table:
        table(options.program)
    else:
        print(plot(records(options.program), options.out))


if __name__ == "__main__":
    main()
