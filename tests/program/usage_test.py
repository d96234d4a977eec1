#!/usr/bin/env python3
"""What a person meets who starts the program with the wrong words, or on the wrong machine.

    usage_test.py LIMITS_TABLE      the program that writes the table of limits
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, ProgramTest, drop_capabilities, limit_descriptors

LIMITS_TABLE = sys.argv.pop() if len(sys.argv) > 1 else ""


def limit_rows() -> list[list[str]]:
    """Flag, default, least, most, meaning."""
    table = subprocess.run([LIMITS_TABLE], capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip().strip("`") for cell in line.strip("|\n").split("|")]
            for line in table.splitlines() if line.startswith("| `--")]
    if not rows:
        raise AssertionError(f"no row in the table:\n{table}")
    return rows


class Help(ProgramTest):
    def setUp(self):
        done = self.run_program("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.help = done.stdout

    def option(self, flag: str) -> str:
        """What is said of a flag, in one line."""
        found = re.search(rf"^  {re.escape(flag)}\b.*\n(?:   +.*\n)*", self.help, re.MULTILINE)
        self.assertIsNotNone(found, f"{flag} is not in\n{self.help}")
        return " ".join(found.group().split())

    def test_every_limit_with_its_default(self):
        rows = limit_rows()
        self.assertGreater(len(rows), 15)
        for flag, default, _, _, meaning in rows:
            said = self.option(flag)
            self.assertTrue(said.endswith(f"[{default}]"), said)
            self.assertIn(meaning, said)

    def test_every_other_flag_with_its_default(self):
        for flag, default in (("--workers", "auto"), ("--listen", "127.0.0.1:8080"), ("--placement", "incoming-cpu"),
                              ("--pin", "auto"), ("--admin", "none"), ("--drain-delay", "0"), ("--grace", "30s"),
                              ("--blocking-threads", "0"), ("--blocking-queue", "1024"),
                              ("--max-connections", "65536")):
            self.assertTrue(self.option(flag).endswith(f"[{default}]"), self.option(flag))
        self.option("--version")
        self.option("--help")

    def test_it_is_grouped_and_fits_a_terminal(self):
        for line in self.help.splitlines():
            self.assertLessEqual(len(line), 100, line)
            self.assertEqual(line, line.rstrip())
        self.assertNotIn("\n\n\n", self.help)
        groups = re.findall(r"^(\w+):\n  --", self.help, re.MULTILINE)
        self.assertEqual(groups, ["Options", "Limits", "Deadlines"])

    def test_the_defaults_can_be_given_as_they_are_shown(self):
        flags = [word for flag, default, *_ in limit_rows() for word in (flag, default)]
        # Which this machine may not have the descriptors for.
        program = self.serve(*flags, "--max-connections", "100")
        self.assertEqual(self.connect(program.port()).get().status, 200)

    def test_version(self):
        done = self.run_program("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^fastserve \d+\.\d+\.\d+\n$")


class Usage(ProgramTest):
    def assert_refused(self, status: int, *arguments: str, says: tuple[str, ...], before=None):
        done = self.run_program(*arguments, before=before)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Afastserve: error: [^\n]+\n\Z")
        for part in says:
            self.assertIn(part, done.stderr)

    def test_mistakes(self):
        for arguments, says in {
            ("--wrokers", "2"): ("unknown option --wrokers", "did you mean --workers?"),
            ("--idle-timout=3s",): ("unknown option --idle-timout;", "--idle-timeout?"),
            ("-workers", "2"): ("did you mean --workers?",),
            ("--max-conections", "2"): ("did you mean --max-connections?",),
            ("--frobnicate",): ("unknown option --frobnicate", "fastserve --help"),
            ("-x",): ("unknown option -x", "fastserve --help"),
            ("8080",): ("there is no folder '8080'", "begins with --"),
            (".", "more"): ("unexpected argument 'more'",),
            (".", "--frobnicate"): ("unknown option --frobnicate",),
            ("--listing", "yes"): ("--listing 'yes'", "off, on"),
            ("--workers",): ("--workers needs a value",),
            ("--workers", "--pin", "on"): ("--workers '--pin'",),
            ("--listen",): ("--listen needs a value",),
            ("--workers", "0"): ("--workers '0'", "from 1 to 1024"),
            ("--workers", "1025"): ("from 1 to 1024",),
            ("--workers", "-1"): ("--workers",),
            ("--workers", "many"): ("takes auto, or a number",),
            ("--pin", "maybe"): ("--pin 'maybe'", "auto, on, off"),
            ("--placement", "best"): ("incoming-cpu, bpf, least-loaded, round-robin",),
            ("--grace", "soon"): ("--grace 'soon'", "30s"),
            ("--grace", "30 s"): ("--grace '30 s'",),
            ("--drain-delay", "2d"): ("from 0 to 1d",),
            ("--idle-timeout", "30x"): ("--idle-timeout '30x'", "500ms, 30s"),
            ("--head-bytes", "1"): ("--head-bytes '1'", "from 128 to 1M"),
            ("--head-bytes", "16q"): ("64k, 1M",),
            ("--head-bytes", "99999999999999999999"): ("--head-bytes",),
            ("--body-bytes", ""): ("--body-bytes ''",),
            ("--head-fields", "10k"): ("--head-fields '10k'", "whole number"),
            ("--listen", "8080"): ("--listen '8080'", "no port"),
            ("--listen", ""): ("--listen ''", "not an address"),
            ("--listen", "127.0.0.1:http"): ("port is not a number",),
            ("--listen", "127.0.0.1:99999"): ("above 65535",),
            ("--listen", "::1:80"): ("brackets",),
            ("--listen", "example.org:80"): ("names are not resolved",),
            ("--listen", "127.0.0.1:0", "--listen", "fd:x"): ("--listen 'fd:x'", "fd:3"),
            ("--admin", "unix:"): ("--admin 'unix:'", "Unix socket"),
        }.items():
            with self.subTest(arguments):
                self.assert_refused(2, *arguments, says=says)

    def test_an_address_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen(1)
            where = "127.0.0.1:%d" % taken.getsockname()[1]
            for placement in ("incoming-cpu", "bpf"):
                self.assert_refused(1, "--listen", where, "--placement", placement, "--workers", "2",
                                    says=(f"cannot listen on {where}: address in use", "choose another port"))
            self.assert_refused(1, "--listen", "127.0.0.1:0", "--admin", where, says=(where, "address in use"))

    def test_no_permission(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o500)
            where = f"unix:{folder}/x.sock"
            self.assert_refused(1, "--listen", where, says=(where, "permission denied"),
                                before=lambda: drop_capabilities(CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH))
            os.chmod(folder, 0o700)

    def test_what_is_no_socket_is_left_alone(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assert_refused(1, "--listen", f"unix:{file.name}", says=(file.name, "not a socket"))
            self.assertTrue(os.path.exists(file.name))
        self.assert_refused(1, "--listen", "fd:77", says=("cannot listen on fd:77", "not an open socket"))


class Descriptors(ProgramTest):
    def soft_limit(self, program) -> int:
        with open(f"/proc/{program.pid}/limits", encoding="ascii") as lines:
            return int(next(line for line in lines if line.startswith("Max open files")).split()[3])

    def test_the_limit_is_raised_to_what_is_needed(self):
        program = self.serve("--max-connections", "500", before=limit_descriptors(64, 4096))
        self.assertGreaterEqual(self.soft_limit(program), 500)
        self.assertLessEqual(self.soft_limit(program), 4096)
        clients = [self.connect(program.port()) for _ in range(200)]
        self.assertEqual({client.get().status for client in clients}, {200})

    def test_what_was_asked_for_and_cannot_be_had_is_refused(self):
        done = self.run_program("--listen", "127.0.0.1:0", "--max-connections", "5000",
                                before=limit_descriptors(64, 1024))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Afastserve: error: --max-connections 5000 needs \d+ open descriptors, and the "
                                      r"limit is 1024; raise it \([^)]+\) or ask for at most \d+\n\Z")
        most = int(done.stderr.split()[-1])
        self.serve("--max-connections", str(most), before=limit_descriptors(64, 1024))

    def test_the_default_is_lowered_and_said(self):
        program = self.serve(before=limit_descriptors(1024, 1024))
        program.wait_for_lines(r"^fastserve: at most \d+ connections, because .* is 1024$")
        self.assertEqual(self.connect(program.port()).get().status, 200)

    def test_closed_standard_streams_are_no_sockets(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        from harness import PROGRAM, eventually  # the line with the port goes nowhere

        def close_streams():
            for fd in (0, 1, 2):
                os.close(fd)

        process = subprocess.Popen([PROGRAM, "--listen", f"127.0.0.1:{port}"], preexec_fn=close_streams)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def connected():
            try:
                return self.connect(port)
            except ConnectionRefusedError:
                return None

        client = eventually(connected, "listening")
        process.send_signal(signal.SIGHUP)  # is logged: not to the client
        for _ in range(3):
            self.assertEqual(client.get().body, b"hello world")
        self.assertEqual(client.rest, b"")
        self.assertEqual({os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in (0, 1, 2)}, {"/dev/null"})
        client.close()
        process.terminate()
        self.assertEqual(process.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
