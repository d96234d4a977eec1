"""The record on disk, and what is gone on with."""

import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import record as records


def sample(commit: str = "c0ffee", seconds: int | None = None, command: str = "all") -> dict:
    return {"format": 1, "run": {"commit": commit, "seconds": seconds, "command": command}, "scenarios": []}


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_is_read_as_it_was_written_and_leaves_nothing_beside(self):
        path = self.folder / "new" / "a.json"
        records.write(path, sample())
        self.assertEqual(records.read(path), sample())
        self.assertEqual(os.listdir(path.parent), ["a.json"])

    def test_a_write_that_fails_leaves_the_old_one(self):
        path = self.folder / "a.json"
        records.write(path, sample())
        for broken in (mock.patch("json.dump", side_effect=OSError("full")),
                       mock.patch("os.replace", side_effect=OSError("full"))):
            with broken, self.assertRaises(OSError):
                records.write(path, sample("other"))
        self.assertEqual(records.read(path), sample())
        self.assertEqual(os.listdir(self.folder), ["a.json"])

    def test_what_is_no_record(self):
        path = self.folder / "a.json"
        for text in ("", "[]", "{}", json.dumps({"format": 2})):
            path.write_text(text)
            with self.assertRaises(records.Unreadable):
                records.read(path)

    def test_resume_takes_the_unfinished_record_of_this_command_and_commit(self):
        for name, record in {"1.aaa.cpu": sample("aaa", 5), "2.bbb.cpu": sample("bbb"), "3.aaa.cpu": sample("aaa"),
                             "4.aaa.cpu.quick": sample("aaa", command="quick")}.items():
            records.write(self.folder / f"{name}.json", record)
        (self.folder / "5.aaa.cpu.json").write_text("broken")
        found = records.unfinished_of(self.folder, "all", "aaa")
        self.assertEqual(found.name, "3.aaa.cpu.json")
        self.assertEqual(records.unfinished_of(self.folder, "quick", "aaa").name, "4.aaa.cpu.quick.json")
        self.assertIsNone(records.unfinished_of(self.folder, "quick", "bbb"))

    def test_a_round_that_not_all_rows_have_does_not_count(self):
        variant = {"rows": [{"absent": None, "rounds": [1, 2, 3]}, {"absent": None, "rounds": [1, 2]},
                            {"absent": "why", "rounds": []}]}
        self.assertEqual(records.rounds_done(variant), 2)
        records.cut_to_whole_rounds(variant)
        self.assertEqual([row["rounds"] for row in variant["rows"]], [[1, 2], [1, 2], []])


if __name__ == "__main__":
    unittest.main()
