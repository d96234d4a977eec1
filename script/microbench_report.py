"""Runs microbenchmarks and reports the medians: microbench_report.py TARGETS DOCS [Google Benchmark's arguments]

TARGETS lists the programs, one a line. With further arguments the table is printed and DOCS is left alone.
"""

import fnmatch
import json
import platform
import subprocess
import sys
from pathlib import Path

REPETITIONS = 5
SECONDS = 0.1  # each; half a second would take the 150 of them a quarter of an hour
TIMES = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
# Of an entry's members these are Google Benchmark's own; what else is a number is a counter of the benchmark.
OWN = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
    "threads", "aggregate_name", "aggregate_unit", "iterations", "real_time", "cpu_time", "time_unit", "label",
}

# What is promised, and how it follows from the benchmarks: each name stands for the median of the benchmark's CPU time,
# which other programs on the machine disturb least; one with a star for the fastest that it fits.
PROMISES = (
    ("Beast's `basic_parser` over ours, head of 414 B", "at least 3 (to come: 5)",
     lambda ns: f"{ns('beast_basic_parser/414') / ns('fastserve_parse/*/414'):.1f}"),
    ("the same, AVX2", "", lambda ns: f"{ns('beast_basic_parser/414') / ns('fastserve_parse/avx2/414'):.1f}"),
    ("serialize \"hello world\" with 4 fields", "at most 15 ns", lambda ns: f"{ns('serialize_head'):.1f} ns"),
    ("the same, with filling the response and copying the body", "", lambda ns: f"{ns('serialize_answer'):.1f} ns"),
    ("a turn of 414 B, over its parse alone", "at most 60 ns", lambda ns: f"{ns('turn/414/1') - ns('parse/414/1'):.1f} ns"),
    ("the same, each of 16 pipelined", "",
     lambda ns: f"{(ns('turn/414/16') - ns('parse/414/16')) / 16:.1f} ns"),
    ("pool: local acquire and release", "at most 3 ns",
     lambda ns: f"{ns('hold/fastserve/1/real_time/threads:1'):.1f} ns"),
)


def run(program: str, arguments: list[str]) -> dict:
    # Interleaved, so that a slow moment of the machine does not fall on all repetitions of one benchmark.
    command = [program, "--benchmark_format=json", f"--benchmark_repetitions={REPETITIONS}",
               "--benchmark_enable_random_interleaving=true", f"--benchmark_min_time={SECONDS}", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{Path(program).name} failed with status {done.returncode}")
    return json.loads(done.stdout) if done.stdout.strip() else {"context": {}, "benchmarks": []}


def medians(program: str, entries: list[dict]) -> list[dict]:
    failed = [f"{entry['name']}: {entry['error_message']}" for entry in entries if entry.get("error_occurred")]
    if failed:
        sys.exit("\n".join([f"{Path(program).name} found wrong answers:", *failed]))
    spread = {e["run_name"]: e["real_time"] for e in entries if e.get("aggregate_name") == "cv"}
    rows = []
    # In the order of the source, not in that of the interleaved runs.
    for entry in sorted(entries, key=lambda e: (e.get("family_index", 0), e.get("per_family_instance_index", 0))):
        if entry.get("aggregate_name") != "median":
            continue
        scale = TIMES[entry["time_unit"]]
        rows.append({
            "name": entry["run_name"],
            "label": entry.get("label", ""),
            "real_ns": round(entry["real_time"] * scale, 3),
            "cpu_ns": round(entry["cpu_time"] * scale, 3),
            "spread": round(spread.get(entry["run_name"], 0.0), 4),
            "counters": {key: round(value, 3) for key, value in entry.items()
                         if key not in OWN and isinstance(value, (int, float))},
        })
    return rows


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def machine(context: dict, build_dir: Path) -> dict:
    compiler = next((line.split("=", 1)[1] for line in (build_dir / "CMakeCache.txt").read_text().splitlines()
                     if line.startswith("CMAKE_CXX_COMPILER:")), "c++")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    return {
        "date": context.get("date", "")[:10],
        "cpu": cpu_model(),
        "cpus": context.get("num_cpus"),
        "kernel": platform.release(),
        "compiler": version,
        "load_average": context.get("load_avg", []),
    }


def nanoseconds(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def counter(key: str, value: float) -> str:
    if key.endswith("_per_second"):
        what = "B" if key == "bytes_per_second" else " " + key.removesuffix("_per_second")
        for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
            if value >= scale:
                return f"{value / scale:.2f} {unit}{what}/s"
    return f"{key} {value:g}"


def promises(report: dict) -> list[str]:
    """Rows of what was measured; without a benchmark that is needed, a row says so."""
    medians = {row["name"]: row["cpu_ns"] for rows in report["benchmarks"].values() for row in rows}

    def ns(name: str) -> float:
        return min(value for key, value in medians.items() if fnmatch.fnmatchcase(key, name))

    rows = []
    for what, promised, measured in PROMISES:
        try:
            rows.append(f"| {what} | {measured(ns)} | {promised} |")
        except ValueError:  # of min(): nothing has that name
            rows.append(f"| {what} | not measured | {promised} |")
    return rows


def table(report: dict) -> str:
    where = report["machine"]
    lines = [
        "# Microbenchmarks", "",
        f"Made by `script/microbench`; the same in numbers: [microbench.json](microbench.json). Medians of {REPETITIONS} "
        "interleaved repetitions; *spread* is the standard deviation over the mean.", "",
        f"{where['cpu']}, {where['cpus']} CPUs, Linux {where['kernel']}, {where['compiler']}, {where['date']}.",
    ]
    lines += ["", "## Promises", "", "In CPU time.", "", "| what | measured | promised |", "|---|---:|---|", *promises(report)]
    for program, rows in report["benchmarks"].items():
        lines += ["", f"## {program}", "", "| benchmark | ns | CPU ns | spread | |", "|---|---:|---:|---:|---|"]
        for row in rows:
            notes = [row["label"]] if row["label"] else []
            notes += [counter(key, value) for key, value in row["counters"].items()]
            lines.append(f"| {row['name'].replace('|', '/')} | {nanoseconds(row['real_ns'])} | "
                         f"{nanoseconds(row['cpu_ns'])} | {row['spread']:.1%} | {', '.join(notes)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    targets, docs, arguments = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    programs = targets.read_text().split()
    report: dict = {"machine": {}, "benchmarks": {}}
    for program in programs:
        print(f"running {Path(program).name}", file=sys.stderr)
        result = run(program, arguments)
        rows = medians(program, result["benchmarks"])
        if rows:
            report["machine"] = report["machine"] or machine(result["context"], targets.parent.parent)
            report["benchmarks"][Path(program).name] = rows
        elif not arguments:
            sys.exit(f"{Path(program).name} has no benchmark")
    if not report["benchmarks"]:
        sys.exit("no microbenchmark ran")
    text = table(report)
    if arguments:
        print(text, end="")
        return
    docs.mkdir(exist_ok=True)
    (docs / "microbench.json").write_text(json.dumps(report, indent=1) + "\n")
    (docs / "microbench.md").write_text(text)
    print(f"wrote {docs.name}/microbench.json and {docs.name}/microbench.md")


if __name__ == "__main__":
    main()
