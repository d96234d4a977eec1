"""The load generators: how each is called, and what its output means."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import processes
from scenarios import Load

HERE = Path(__file__).parent
WRK_SCRIPT = HERE / "wrk.lua"

# What a browser sends of its own accord; wrk adds Host.
BROWSER_HEAD = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Encoding: gzip, deflate, br",
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8",
    "Cookie: session=4f1c9a52e0b74d6e; theme=dark",
    "Connection: keep-alive",
)


FASTSERVE_LOAD_EXTRA = ("rate_wanted", "rate_achieved", "unsent", "unfinished", "first_wrong_answer")


class BadOutput(Exception):
    """A generator printed what cannot be understood; the text has its last line."""


@dataclass
class Result:
    """What one run of a generator measured. What it did not tell is None, never 0."""

    requests: int
    seconds: float
    errors: int  # of all kinds
    wrong: int = 0  # answers among them that were not what they should be
    p50_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None
    max_ms: float | None = None
    user: float = 0.0
    system: float = 0.0
    was_limit: bool = False
    extra: dict = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return self.requests / self.seconds if self.seconds > 0 else 0.0


def _found(pattern: str, text: str, tool: str) -> re.Match:
    match = re.search(pattern, text, re.MULTILINE)
    if not match:
        lines = text.strip().splitlines() or ["nothing at all"]
        raise BadOutput(f"{tool} printed no {pattern!r}; its last line: {lines[-1][:200]}")
    return match


def _ms(text: str) -> float:
    """A time as wrk and h2load write it: 583.19us, 1.21ms, 2.00s, 1.10m."""
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m|h)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}[unit]


def parse_wrk(text: str) -> Result:
    done = _found(r"^\s*(\d+) requests in ([\d.]+\w+),", text, "wrk")
    latency = _found(r"^\s*Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)%", text, "wrk")
    extra: dict = {"wrk_latency_avg_ms": _ms(latency[1]), "wrk_latency_stdev_ms": _ms(latency[2]),
                   "wrk_latency_max_ms": _ms(latency[3])}
    errors = wrong = 0
    if refused := re.search(r"^\s*Non-2xx or 3xx responses: (\d+)", text, re.MULTILINE):
        errors = wrong = int(refused[1])
    socket_errors = re.search(r"^\s*Socket errors: (.*)$", text, re.MULTILINE)
    for kind in ("connect", "read", "write", "timeout"):
        count = re.search(rf"{kind} (\d+)", socket_errors[1]) if socket_errors else None
        extra[f"wrk_{kind}_errors"] = int(count[1]) if count else 0
        errors += extra[f"wrk_{kind}_errors"]
    result = Result(int(done[1]), _ms(done[2]) / 1000, errors, wrong, max_ms=extra["wrk_latency_max_ms"], extra=extra)
    if more := re.search(r"^shootout (\{.*\})$", text, re.MULTILINE):
        exact = json.loads(more[1])
        result.seconds = exact["duration_us"] / 1e6
        result.max_ms = exact["max_us"] / 1000
        # Where requests are pipelined, wrk's own correction counts more answers than it has: its ranks then find none.
        if exact["p99_us"] > 0:
            result.p50_ms, result.p99_ms = exact["p50_us"] / 1000, exact["p99_us"] / 1000
            result.p999_ms = exact["p999_us"] / 1000 or None
    return result


def parse_ab(text: str) -> Result:
    requests = int(_found(r"^Complete requests:\s+(\d+)", text, "ab")[1])
    seconds = float(_found(r"^Time taken for tests:\s+([\d.]+)", text, "ab")[1])
    errors = int(_found(r"^Failed requests:\s+(\d+)", text, "ab")[1])
    counts = {}
    for name in ("Non-2xx responses:", "Write errors:", r"\(.* Length:"):
        match = re.search(rf"^\s*{name}\s+(\d+)", text, re.MULTILINE)
        counts[name] = int(match[1]) if match else 0
    refused, unwritten, of_other_length = counts.values()
    result = Result(requests, seconds, errors + refused + unwritten, refused + of_other_length)
    if longest := re.search(r"^\s*100%\s+(\d+)", text, re.MULTILINE):
        result.max_ms = float(longest[1])
    for percent, name in ((50, "p50_ms"), (99, "p99_ms")):
        if match := re.search(rf"^{percent},([\d.]+)$", text, re.MULTILINE):
            setattr(result, name, float(match[1]))
    return result


def parse_h2load(text: str) -> Result:
    seconds = _ms(_found(r"^finished in ([\d.]+\w+),", text, "h2load")[1]) / 1000
    counts = _found(r"^requests: .*?(\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text,
                    "h2load")
    answers = _found(r"^status codes: (\d+) 2xx", text, "h2load")
    done = int(counts[1])
    wrong = max(0, done - int(answers[1]))
    errors = int(counts[3]) + int(counts[5]) + wrong
    times = _found(r"^time for request:\s+(\S+)\s+(\S+)\s+(\S+)", text, "h2load")
    return Result(done, seconds, errors, wrong, max_ms=_ms(times[2]), extra={"h2load_mean_ms": _ms(times[3])})


def parse_fastserve_load(text: str) -> Result:
    """Latency is from the moment a request was due, and a rate is what was answered in time."""
    try:
        told = json.loads(text)
        times = {f"{name}_ms": None if told[f"{name}_us"] is None else told[f"{name}_us"] / 1000
                 for name in ("p50", "p99", "p999", "max")}
        extra = {key: told[key] for key in FASTSERVE_LOAD_EXTRA}
        return Result(told["requests"], told["seconds"], told["errors_total"],
                      told["errors"]["wrong_answer"], **times, was_limit=told["generator_was_limit"], extra=extra)
    except (ValueError, KeyError, TypeError) as error:
        raise BadOutput(f"fastserve-load printed {text.strip()[:100]!r}: {error}") from None


def parse_tcp(text: str) -> Result:
    try:
        told = json.loads(text)
    except ValueError:
        raise BadOutput(f"tcp_client printed no JSON: {text.strip()[:200]!r}") from None
    return Result(told["bytes"] // 4096, told["seconds"], told["wrong"], told["wrong"], extra={"bytes": told["bytes"]})


def wrk_command(load: Load, url: str, seconds: float) -> list[str]:
    # wrk takes whole seconds.
    command = ["wrk", f"-t{load.threads}", f"-c{load.connections}", f"-d{max(1, round(seconds))}s", "--latency"]
    command += ["-s", str(WRK_SCRIPT)]
    if load.head == "browser":
        command += [word for line in BROWSER_HEAD for word in ("-H", line)]
    if load.requests_per_connection == 1:
        command += ["-H", "Connection: close"]
    command.append(url)
    if load.pipeline > 1:
        command += ["--", "pipeline", str(load.pipeline)]
    elif load.requests_per_connection > 1:
        command += ["--", "every", str(load.requests_per_connection)]
    return command


def ab_command(load: Load, url: str, requests: int) -> list[str]:
    command = ["ab", "-q", "-r", "-e", "/dev/stdout", "-n", str(requests), "-c", str(load.connections)]
    return command + (["-k"] if load.keep_alive else []) + [url]


def h2load_command(load: Load, url: str, requests: int, body: Path) -> list[str]:
    # A count and no time: at the end of a time, what is half sent would not count.
    return ["h2load", "--h1", f"-t{load.threads}", f"-c{load.connections}", f"-n{requests}", "-d", str(body), url]


def fastserve_load_command(program: Path, load: Load, url: str, seconds: float, body: str) -> list[str]:
    return [str(program), "-c", str(load.connections), "-t", str(load.threads), "-d", f"{seconds:g}", "-r",
            str(load.rate), "--expect-body", body, url]


PARSERS = {"wrk": parse_wrk, "ab": parse_ab, "h2load": parse_h2load, "fastserve-load": parse_fastserve_load,
           "tcp": parse_tcp}


def run(tool: str, commands: list[list[str]], on: list[int], threads: int, patience: float, during=None) -> Result:
    """Runs the commands at the same time and adds up what they measured. `during` is called while they run, with their
    processes."""
    started = [processes.Process(command, on=on, pipes=True) for command in commands]
    try:
        if during:
            during(started)
        uses = [process.finish(patience) for process in started]
    except BaseException:
        for process in started:
            process.stop()
        raise
    results = []
    for command, use in zip(commands, uses):
        if use.status != 0:
            words = (use.errors.strip() or use.output.strip() or "without a word").splitlines()[-1]
            raise BadOutput(f"{command[0]} ended with status {use.status}: {words[:200]}")
        results.append(PARSERS[tool](use.output))
    whole = results[0] if len(results) == 1 else add_up(results)
    whole.user, whole.system = sum(use.user for use in uses), sum(use.system for use in uses)
    capacity = whole.seconds * min(threads * len(commands), len(on))
    whole.was_limit = whole.was_limit or whole.user + whole.system >= 0.95 * capacity
    whole.extra["load_context_switches_per_second"] = round(sum(use.switches for use in uses) / whole.seconds, 1)
    return whole


def add_up(results: list[Result]) -> Result:
    """Of generators that ran side by side: all requests in the longest time, and the worst of each percentile."""
    def worst(name: str) -> float | None:
        known = [value for result in results if (value := getattr(result, name)) is not None]
        return max(known, default=None)

    return Result(sum(result.requests for result in results), max(result.seconds for result in results),
                  sum(result.errors for result in results), sum(result.wrong for result in results),
                  *map(worst, ("p50_ms", "p99_ms", "p999_ms", "max_ms")))
