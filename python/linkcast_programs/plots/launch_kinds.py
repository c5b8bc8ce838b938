"""HGX H200: what collectives take by who issues them, beside launch records (schema launch/1).

As a program it prints a table for every record:
  python3 python/run.py plots.launch_kinds [RECORD.json ...]
  python3 python/run.py plots.launch_kinds --anchored     one figure of each host is given (host_scale)
"""
import statistics
from pathlib import Path

from ..measure.held_back import GRAPH, MEDIAN, alone, is_plain, kind_of
from . import common
from .common import BLUE, GREEN, GREY, MIB, ORANGE, PURPLE

FOLDER = common.ROOT / "calibrate/data/hgx-h200"
OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "sendrecv")
QUANTITIES = {"short": 20, "rest": 1}  # calls, one behind the other
CALLS_IN_GRAPHS = 200
COLOURS = {"graph": BLUE, "process, threads": GREEN, "process, processes": GREY, "single_process": ORANGE, "pytorch": PURPLE}
# NCCL 2.28.9 by the table of 2.27, the newest that is modelled
QUERY = {"kind": "collective", "platform": "hgx-h200", "nvls": False}  # as measured: NCCL_NVLS_ENABLE=0


def compared(program: str, name: str) -> list[dict]:
    """Of a record one row a point and quantity: measured and predicted seconds."""
    record = common.load(name)
    fitted = {source["path"].rsplit("/", 1)[-1] for source in common.load("models/params/hgx-h200.json")["from"]}
    queries, rows = [], []
    for point in record["points"]:
        if point["op"] not in OPERATIONS or not is_plain(point):
            continue
        quantities = {alone(point): CALLS_IN_GRAPHS} if point["launch"] == GRAPH else QUANTITIES
        for quantity, calls in quantities.items():
            if quantity not in point["times_s"]:
                continue
            queries.append({**QUERY, "id": len(queries), "op": point["op"], "gpus": point["gpus"], "size_B": point["size_B"], "calls": calls,
                            "launch": point["launch"]})
            rows.append({"kind": kind_of(point), "op": point["op"], "gpus": len(point["gpus"]), "size_B": point["size_B"],
                         "quantity": GRAPH if point["launch"] == GRAPH else quantity, "measured_s": point["times_s"][quantity][MEDIAN],
                         "fitted": Path(name).name in fitted})
    for row, answer in zip(rows, common.batch(program, queries)):
        row.update({"predicted_s": answer["time_s"], "low_s": answer["time_low_s"], "high_s": answer["time_high_s"]})
    return rows


def scaled(program: str, name: str, rows: list[dict]) -> list[dict]:
    """The same rows with host_scale, by kind, from the record's smallest all_reduce of 20 calls, which is left out."""
    queries, kept = [], []
    for kind in dict.fromkeys(row["kind"] for row in rows if row["kind"] != "graph"):
        some = [row for row in rows if (row["kind"], row["quantity"]) == (kind, "short")]
        anchor = min((row for row in some if row["op"] == "all_reduce"), key=lambda row: row["size_B"])
        scale = anchor["measured_s"] / anchor["predicted_s"]
        for row in some:
            if row is not anchor:
                queries.append({**QUERY, "id": len(queries), "op": row["op"], "gpus": list(range(row["gpus"])), "size_B": row["size_B"],
                                "launch": kind.split(",")[0], "host_scale": scale})
                kept.append(row)
    for row, answer in zip(kept, common.batch(program, queries)):
        row.update({"predicted_s": answer["time_s"], "low_s": answer["time_low_s"], "high_s": answer["time_high_s"]})
    return kept


def shipped() -> list[str]:
    return sorted(str(path.relative_to(common.ROOT)) for path in FOLDER.glob("*-launch*.json"))


def records(program: str) -> dict:
    rows = [row for name in shipped() for row in compared(program, name) if not row["fitted"]]
    return {"rows": rows, "provenance": common.provenance(common.batch(program, [{**QUERY, "op": "all_reduce", "gpus": [0, 1],
                                                                            "size_B": 8}])[0])}


def figures(rows: list[dict]) -> dict:
    """Median and 90th percentile of the absolute error, median error, share inside the 90 % interval."""
    errors = sorted(row["predicted_s"] / row["measured_s"] - 1 for row in rows)
    return {"points": len(rows), "median": statistics.median(map(abs, errors)), "p90": common.quantile(list(map(abs, errors)), 0.9),
            "bias": statistics.median(errors), "inside": statistics.mean(row["low_s"] <= row["measured_s"] <= row["high_s"] for row in rows)}


def groups(rows: list[dict]) -> dict:
    """Of quantity, kind and whether below 1 MiB."""
    found = {}
    for row in rows:
        found.setdefault((row["quantity"], row["kind"], row["size_B"] < MIB), []).append(row)
    return {key: figures(found[key]) for key in sorted(found, key=lambda k: (k[0] == "rest", list(COLOURS).index(k[1]), not k[2]))}


def plot(data: dict, out: Path) -> Path:
    plt = common.pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.9))
    for axis, (rest, title) in zip(axes, ((False, "20 calls, as nccl-tests; the GPUs alone in CUDA graphs"), (True, "one call from rest"))):
        for kind, colour in COLOURS.items():
            some = [row for row in data["rows"] if row["kind"] == kind and (row["quantity"] == "rest") == rest]
            if some:
                axis.plot([1e6 * row["measured_s"] for row in some], [1e6 * row["predicted_s"] for row in some], "o", ms=3, mew=0,
                          alpha=0.55, color=colour, label=f"{kind} ({len(some)})")
        ends = [4, 2000]
        axis.plot(ends, ends, color="black", lw=0.8)
        axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends, xlabel="measured time a call [us]",
                 ylabel="predicted time a call [us]")
        axis.set_title(title, fontsize=9)
        axis.legend(loc="upper left", fontsize=7.5)
    figure.suptitle("HGX H200, two GPUs: seven operations by who issues them, held-out launch records", fontsize=10)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    return common.save(plt, figure, f"calibrate/data/hgx-h200; {data['provenance']}", out)


def show(title: str, rows: list[dict], rest: bool) -> None:
    print(title)
    found = groups(rows)
    for quantity, kind in dict.fromkeys((key[0], key[1]) for key in found):
        if quantity == "rest" and not rest:
            continue
        small, large = found.get((quantity, kind, True)), found.get((quantity, kind, False))
        line = f"  {kind + (', from rest' if quantity == 'rest' else ''):33}"
        if small:
            line += (f"{small['points']:7}{100 * small['median']:7.1f} %{100 * small['p90']:7.1f} %{100 * small['bias']:+7.1f} %"
                     f"{100 * small['inside']:6.0f} %")
        if large:
            line += f"{large['points']:9}{100 * large['median']:7.1f} %{100 * large['inside']:6.0f} %"
        print(line)


def main() -> None:
    parser = common.options(__doc__)
    parser.add_argument("record", nargs="*", help="launch records (default: all that are shipped)")
    parser.add_argument("--rest", action="store_true", help="single calls from rest too, not only 20 in a row")
    parser.add_argument("--anchored", action="store_true", help="host_scale from each record's smallest all_reduce; all else held out")
    options = parser.parse_args()
    print(f"{'':42}{'below 1 MiB':38}from 1 MiB on")
    print(f"{'':35}{'points':>7}{'median':>9}{'90 %':>9}{'bias':>9}{'inside':>8}{'points':>9}{'median':>9}{'inside':>8}")
    held_out = []
    for name in options.record or shipped():
        rows = compared(options.program, name)
        if rows and options.anchored:
            held_out += scaled(options.program, name, rows)
        if not rows or options.anchored:
            continue
        evidence = "fitted" if rows[0]["fitted"] else "held out"
        if evidence == "held out":
            held_out += rows
        show(f"{Path(name).stem}, {evidence}", rows, options.rest)
    show("all but one all_reduce of each record and kind" if options.anchored else "all of these that were held out", held_out,
         options.rest)


if __name__ == "__main__":
    main()
