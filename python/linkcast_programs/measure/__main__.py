"""Measures a box with GPUs, fits it and says how right forecasts of it are: `linkcast measure` calls this program."""
from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
from pathlib import Path

from ..records import InputError, parse, read_text
from .benches import BENCHES, WRONG_DATA, Done, Run, Session, needed
from .box import Compiler, find_bench, gpu_names, gpus_text, host_name, others_on_gpus
from .held_back import kept_back_points
from .program import Failed, Linkcast
from .records import Record, newest, records_in
from .table import groups_of, sentence, table_text, worse_lines

USUAL_MINUTES = 5.0
STOPPED = "stopped: the records are complete, the same command goes on"


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="linkcast")
    parser.add_argument("--data-dir", default=str(Path(__file__).resolve().parents[3]))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--machine", default="")
    parser.add_argument("--occasion", default="")
    parser.add_argument("--minutes", type=float, default=USUAL_MINUTES)
    parser.add_argument("--bench")
    parser.add_argument("--include")
    parser.add_argument("--nccl")
    parser.add_argument("--from-records", type=Path)
    parser.add_argument("--records-only", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def check_label(option: str, label: str) -> None:
    if not re.fullmatch(r"[a-z0-9-]+", label):
        raise InputError(f"{option}: '{label}': small letters, digits and '-' only")


def check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(f"--out: {out}: is no folder")


class Measuring:
    """One run of this program on a box: what it measures, with what, where to."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.machine = options.machine or host_name()
        check_label("--machine", self.machine)
        self.out: Path = options.out or Path(f"{self.machine}.measured")
        check_folder(self.out)
        self.gpus = gpu_names()
        records = [record for record in records_in(self.out) if record.machine == self.machine] if self.out.is_dir() else []
        self.occasion = options.occasion or max((record.occasion for record in records), default=time.strftime("%Y%m%d", time.gmtime()))
        check_label("--occasion", self.occasion)
        self.done = Done(self.out, f"{self.machine}-{self.occasion}")
        self.benches = needed(len(self.gpus))
        self.bench = find_bench(options.bench, options.program, self.out)
        self.compiler = None if self.bench else Compiler(options.data_dir, options.include)

    def plan(self) -> dict:
        """What would run: key by key what --dry-run says."""
        rows = []
        for bench in self.benches:
            kept = self.done.points(bench.name)
            rows.append({"bench": bench.name, "what": bench.what, "held_out": bench.kept_back, "measured": kept is not None,
                         "estimate_s": 0.0 if kept is not None else round(bench.estimate_s(len(self.gpus)), 1)})
        return {"machine": self.machine, "gpus": self.gpus, "out": str(self.out), "occasion": self.occasion,
                "bench": str(self.bench) if self.bench else None, "build": self.compiler.text() if self.compiler else None, "benches": rows,
                "estimate_s": round(sum(row["estimate_s"] for row in rows), 1), "most_s": 60 * self.options.minutes}

    def run(self) -> tuple[list[Run], bool]:
        """@returns  what became of each bench, and whether copied data was wrong"""
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--out: {self.out}: {error.strerror}") from None
        if others := others_on_gpus():
            print(f"warning: {others} other process{'es' * (others > 1)} on these GPUs: the records are of a busy box", file=sys.stderr)
        program = self.compiler.build(self.out) if self.compiler else self.bench
        names = ["--machine", self.machine, "--topology", self.machine, "--occasion", self.occasion]
        nccl = ["--nccl", self.options.nccl] if self.options.nccl else []
        session = Session([str(program), "--out", str(self.out), *names, *nccl], self.done, self.options.minutes)
        runs: list[Run] = []
        for i, bench in enumerate(self.benches, 1):
            runs.append(session.run(bench, f"{i} of {len(self.benches)}"))
            if runs[0].status == "failed":  # discovery: without GPUs that it can use none of the others would do better
                raise InputError(f"{program}: {runs[0].reason}")
        return runs, session.wrong_data


def plan_text(plan: dict) -> str:
    lines = [f"{plan['machine']}: {gpus_text(plan['gpus'])}",
             f"with: {plan['bench'] or plan['build']}", f"into: {plan['out']}, occasion {plan['occasion']}"]
    for row in plan["benches"]:
        what = "measured" if row["measured"] else f"{row['estimate_s']:.0f} s"
        lines.append(f"{row['bench']:<16}{what:>9}  {row['what']}{' (kept back from the fit)' if row['held_out'] else ''}")
    most = "" if plan["estimate_s"] <= plan["most_s"] else "; what comes last may not fit"
    lines.append(f"about {plan['estimate_s']:.0f} s, at most {plan['most_s']:.0f} s{most}; then the fit and the comparison")
    return "\n".join(lines)


def inherited_from(platform: Path) -> dict[str, int]:
    """Parameters that a calibration has from other machines, counted by machine."""
    found: dict[str, int] = {}
    for _, parameter in parse(read_text(platform), str(platform))["parameters"].entries():
        if source := re.match(r"inherited:([^,]+)", parameter["provenance"].text()):
            found[source[1]] = found.get(source[1], 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def evaluate(linkcast: Linkcast, records: list[Record], out: Path) -> dict:
    """Fits all that was not kept back, writes the platform, and compares what was kept back with it."""
    machine, topology = records[0].machine, out / f"{records[0].topology}-topology.json"
    source = records[0].path.parent / topology.name
    if not source.exists():
        raise InputError(f"{source}: no such file: discovery writes it")
    if source.resolve() != topology.resolve():
        topology.write_bytes(source.read_bytes())
    linkcast.says("check", topology)
    platform = out / f"{machine}.json"
    if not any(record.bench == "p2p_copy" and record.measured for record in records):
        raise InputError(f"{source.parent}: no copies were measured (p2p_copy), which every fit needs")
    fitted = [record.path for record in records if record.schema != "discovery/1" and not record.kept_back and record.measured]
    print(f"measure: fits {len(fitted)} records", file=sys.stderr)
    said = linkcast.says("calibrate", "fit", *fitted, "--topology", topology, "--name", machine, "--inherit", "nearest", "--out", platform,
                         "--fit-report", out / f"{machine}-fit.json")
    pairs = [line for line in said.splitlines() if line.startswith("pairs: ")]
    points, errors = kept_back_points(linkcast, records, platform, topology)
    groups = groups_of(points)
    return {"machine": machine, "topology": str(topology), "platform": str(platform), "fit_report": str(out / f"{machine}-fit.json"),
            "fitted": [str(path) for path in fitted], "held_out": [str(record.path) for record in records if record.kept_back and record.measured],
            "inherited": inherited_from(platform), "pairs": pairs, "not_forecast": errors, "groups": [group.as_json() for group in groups],
            "worse_than_inherited": worse_lines(groups), "points": len(points), "sentence": sentence(points),
            "table": table_text(groups) if groups else ""}


def result_text(result: dict) -> str:
    lines = [f"{result['machine']}: {gpus_text(result['gpus'])}", *result["pairs"],
             f"fitted: {', '.join(result['fitted_benches'])}", f"held out: {', '.join(result['held_out_benches']) or 'nothing'}"]
    if result["inherited"]:
        counts = (f"{count} parameter{'s' * (count > 1)} of {name}" for name, count in result["inherited"].items())
        lines.append(f"not measured, inherited: {', '.join(counts)}")
    lines.append(f"wrote: {result['topology']} (what is wired to what), {result['platform']} (with parameters)")
    if result["table"]:
        lines += ["", "what was held out, median error of forecasts: own calibration, inherited without one; inside the own 90 % interval, its width",
                  result["table"], ""]
    lines += [f"worse than inherited: {name}" for name in result["worse_than_inherited"]]
    lines += [f"not measured: {text}" for text in result["missing"]]
    lines += [f"no forecast: {text}" for text in result["not_forecast"]]
    return "\n".join([*lines, result["sentence"]])


def finish(linkcast: Linkcast, records: list[Record], out: Path, runs: list[Run], as_json: bool) -> None:
    if not records:
        raise InputError(f"{out}: no records of linkcast-bench")
    result = evaluate(linkcast, records, out)
    here = {record.bench for record in records if record.measured}
    gpus = next(record.gpus for record in records)
    missing = [run.missing_text() for run in runs if run.status != "complete"]
    if not runs:
        missing = [f"{bench.name} ({bench.what}): no record" for bench in needed(len(gpus)) if bench.name not in here]
    order = [bench.name for bench in BENCHES]
    by_kind = {kept: sorted((r.bench for r in records if r.measured and r.kept_back == kept and r.schema != "discovery/1"),
                            key=lambda name: order.index(name) if name in order else len(order)) for kept in (False, True)}
    result |= {"gpus": gpus, "fitted_benches": by_kind[False], "held_out_benches": by_kind[True], "missing": missing,
               "benches": [run.as_json() for run in runs]}
    if as_json:
        del result["table"]
        print(json.dumps(result, indent=2))
    else:
        print(result_text(result))


def print_records(measuring: Measuring, runs: list[Run], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"machine": measuring.machine, "gpus": measuring.gpus, "out": str(measuring.out),
                          "benches": [run.as_json() for run in runs]}, indent=2))
        return
    print(f"{measuring.machine}: {gpus_text(measuring.gpus)}; records in {measuring.out}")
    for run in runs:
        print(f"{run.bench.name}: {run.points} points, {run.seconds:.0f} s" if run.status == "complete" else f"not measured: {run.missing_text()}")
    print(f"next: linkcast measure --from-records {measuring.out}")


def measure(options: argparse.Namespace) -> int:
    linkcast = Linkcast(options.program, options.data_dir)
    if options.from_records:
        if not options.from_records.is_dir():
            raise InputError(f"--from-records: {options.from_records}: no such folder")
        records = [r for r in records_in(options.from_records) if options.machine in ("", r.machine)]
        if not records:
            raise InputError(f"--from-records: {options.from_records}: no records of linkcast-bench")
        records = newest(records)
        out = options.out or options.from_records
        check_folder(out)
        if options.dry_run:
            print(f"measures nothing: fits and compares {len(records)} records of {records[0].machine}, occasion {records[0].occasion}")
            return 0
        out.mkdir(parents=True, exist_ok=True)
        finish(linkcast, records, out, [], options.json)
        return 0
    measuring = Measuring(options)
    if options.dry_run:
        plan = measuring.plan()
        print(json.dumps(plan, indent=2) if options.json else plan_text(plan))
        return 0
    runs, wrong_data = measuring.run()
    records = [r for r in records_in(measuring.out) if (r.machine, r.occasion) == (measuring.machine, measuring.occasion)]
    if options.records_only:
        print_records(measuring, runs, options.json)
    else:
        finish(linkcast, records, measuring.out, runs, options.json)
    if wrong_data:
        print("error: copied data differs from its source; those points say \"verified\": false", file=sys.stderr)
        return WRONG_DATA
    return 1 if any(run.status == "failed" for run in runs) else 0


def main() -> int:
    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    signal.signal(signal.SIGTERM, stop)
    try:
        return measure(options_of(sys.argv[1:]))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Failed as failed:
        return failed.args[0]
    except KeyboardInterrupt as stopped:
        print(STOPPED, file=sys.stderr)
        return 128 + (stopped.args[0] if stopped.args else signal.SIGINT)
    except OSError as error:  # a full disk: the records keep what is done
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
