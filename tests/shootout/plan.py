"""What a run will do, and how long that takes: told before it begins."""

from dataclasses import dataclass

from scenarios import Load, Scenario, Variant

PER_ROW = 1.0  # to start, ask, warm up and end a server
PER_RUN = 0.15  # around each run of a generator
AB_RATE, AB_ALONE_RATE = 20_000, 10_000  # requests/s of ab, and of one that waits for each answer
QUICK_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    scenario: Scenario
    variant: Variant
    rounds: int
    seconds: float  # of the whole step


def run_seconds(load: Load, quick: bool) -> float:
    if load.tool == "size":
        return 0.1
    if load.tool == "footprint":
        return 8.0
    if quick:
        return QUICK_SECONDS
    if load.tool == "ab":
        alone = load.connections * load.processes == 1
        return load.requests * load.processes / (load.rate_expected or (AB_ALONE_RATE if alone else AB_RATE))
    return load.seconds


def rounds_of(scenario: Scenario, variant: Variant, quick: bool) -> int:
    return 1 if variant.load.tool == "size" else scenario.rounds(quick)


def step_seconds(scenario: Scenario, variant: Variant, quick: bool) -> float:
    if variant.with_variant:
        return 0.0
    runs = len(variant.servers) * rounds_of(scenario, variant, quick)
    return runs * (run_seconds(variant.load, quick) + PER_RUN) + len(variant.servers) * PER_ROW


def make(scenarios: tuple[Scenario, ...], quick: bool) -> list[Step]:
    return [Step(scenario, variant, rounds_of(scenario, variant, quick), step_seconds(scenario, variant, quick))
            for scenario in scenarios for variant in scenario.variants if variant.quick or not quick]


def minutes(steps: list[Step]) -> float:
    return sum(step.seconds for step in steps) / 60


def told(steps: list[Step]) -> list[str]:
    """A line a scenario, then the sum."""
    lines = []
    for scenario in dict.fromkeys(step.scenario for step in steps):
        own = [step for step in steps if step.scenario is scenario]
        servers = len({server for step in own for server in step.variant.servers})
        lines.append(f"  {scenario.name:<10} {len(own):2} variants, {servers:2} servers, {own[0].rounds} rounds"
                     f"  {minutes(own):5.1f} min")
    lines.append(f"  {'all':<10} {minutes(steps):40.1f} min, and what is not built yet")
    return lines
