"""The table of scenarios, and how long it takes."""

import unittest
import unittest.mock

import plan
import shootout
from peers import SERVERS
from scenarios import SCENARIOS


class Plan(unittest.TestCase):
    def test_the_whole_is_within_100_minutes_and_the_quick_one_within_8(self):
        self.assertLess(plan.minutes(plan.make(SCENARIOS, False)), 100)
        self.assertLess(plan.minutes(plan.make(SCENARIOS, True)), 8)

    def test_quick_is_what_the_issue_says(self):
        quick = shootout.chosen([], True)
        self.assertEqual([scenario.name for scenario in quick],
                         ["hello", "one-core", "ab", "json-api", "pipeline", "churn", "latency"])
        latency = [step.variant.id for step in plan.make(quick, True) if step.scenario.name == "latency"]
        self.assertEqual(latency, ["50"])

    def test_historical_scenarios_have_3_rounds_and_the_others_5(self):
        for step in plan.make(SCENARIOS, False):
            if step.variant.load.tool != "size":
                self.assertEqual(step.rounds, 3 if step.scenario.historical else 5)
        self.assertEqual([scenario.name for scenario in SCENARIOS if scenario.historical],
                         ["hello", "one-core", "ab", "cluster", "json-api", "mysql", "tcp"])

    def test_the_sum_stands_below_its_parts(self):
        lines = plan.told(plan.make(shootout.chosen(["hello", "tcp"], False), False))
        self.assertEqual([line.split()[0] for line in lines], ["hello", "tcp", "all"])
        parts = [float(line.split(" min")[0].split()[-1]) for line in lines]
        self.assertAlmostEqual(parts[0] + parts[1], parts[2], delta=0.11)


class Table(unittest.TestCase):
    def test_every_server_is_known_and_named_once_a_variant(self):
        for scenario in SCENARIOS:
            self.assertEqual(len({variant.id for variant in scenario.variants}), len(scenario.variants))
            for variant in scenario.variants:
                self.assertEqual(set(variant.servers) - set(SERVERS), set(), variant)
                self.assertEqual(len(set(variant.servers)), len(variant.servers))
                if variant.with_variant:
                    lead = next(other for other in scenario.variants if other.id == variant.with_variant)
                    self.assertEqual((lead.servers, lead.load), (variant.servers, variant.load))

    def test_an_unknown_scenario_is_a_usage_error(self):
        with self.assertRaises(SystemExit) as ended, unittest.mock.patch("sys.stderr"):
            shootout.arguments(["nonsense"])
        self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
