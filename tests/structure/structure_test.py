#!/usr/bin/env python3
"""The structure tests can fail: each is shown a tree that breaks its rule.

    structure_test.py COMPILER
"""

import sys
import tempfile
import unittest
from pathlib import Path

import file_length
import headers
import include_law
import source

COMPILER = sys.argv.pop() if len(sys.argv) > 1 else "c++"


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name).resolve()

    def write(self, name: str, text: str = "#pragma once\n"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Strip(unittest.TestCase):
    def test_comments_and_literals_go_and_lines_stay(self):
        text = 'a /* x\ny */ b // c\n"// no" R"z(")\n)z" 1\'000 \'"\' // "\nend'
        self.assertEqual(source.strip(text).split("\n"), ["a  ", ' b  ', '"" ""', " 1'000 \"\"  ", "end"])

    def test_an_include_keeps_its_name_but_not_in_a_comment(self):
        text = '#include <a> // <b>\n// #include <c>\n  #  include "d"\n/* #include <e> */\n#include F\n'
        found = [(i.line, i.kind, i.name) for i in source.includes(source.strip(text))]
        self.assertEqual(found, [(1, "<", "a"), (3, '"', "d"), (5, "?", "F")])


class IncludeLaw(Tree):
    def breaches(self, name: str, text: str) -> list[str]:
        self.write(name, text)
        return include_law.check(self.root)

    def assert_breach(self, name: str, text: str, part: str):
        found = self.breaches(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(name, found[0])
        self.assertIn(part, found[0])

    def test_what_the_law_allows(self):
        self.write("server/http/src/detail.hpp")
        for installed in ("pool/include/fastserve/pool/p.hpp", "server/coding/include/fastserve/coding/c.hpp",
                          "server/files/include/fastserve/files/f.hpp",
                          "server/net/include/fastserve/net/address.hpp",
                          "server/app/include/fastserve/fastserve.hpp"):
            self.write(installed)
        for name, text in {
            "pool/src/map.cpp": "#include <sys/mman.h>\n#include <unistd.h>\n#include <mutex>\n",
            "server/http/include/fastserve/http/a.hpp": "#include <fastserve/pool/p.hpp>\n#include <chrono>\n",
            "server/http/src/a.cpp": '#include "detail.hpp"\n#include <immintrin.h>\n#include <boost/beast/http/verb.hpp>\n',
            "server/net/src/n.cpp": "#include <fastserve/http/a.hpp>\n#include <sys/epoll.h>\n#include <boost/asio.hpp>\n",
            "server/coding/src/z.cpp": "#include <fastserve/http/a.hpp>\n#include <zlib.h>\n#include <brotli/encode.h>\n",
            "server/files/src/f.cpp": "#include <fastserve/http/a.hpp>\n#include <sys/stat.h>\n#include <linux/openat2.h>\n",
            "server/app/include/fastserve/c.hpp": "#include <fastserve/coding/c.hpp>\n#include <fastserve/files/f.hpp>\n",
            "server/app/src/s.cpp": "#include <fastserve/net/n.hpp>\n#include <fastserve/server.hpp>\n",
            "server/app/include/fastserve/types.hpp": "#include <fastserve/net/address.hpp>\n",
            "server/cli/src/main.cpp": "#include <fastserve/fastserve.hpp>\n#include <CLI/CLI.hpp>\n#include <iostream>\n",
            "server/http/src/b.cpp": "// steady_clock::now() is for the caller\nusing t = std::chrono::steady_clock::time_point;\n",
        }.items():
            self.assertEqual(self.breaches(name, text), [])

    def test_a_layer_that_includes_a_higher_one(self):
        for name, header, of in (
            ("pool/src/a.cpp", "fastserve/http/error.hpp", "http"),
            ("server/http/src/a.cpp", "fastserve/net/worker.hpp", "net"),
            ("server/http/include/fastserve/http/a.hpp", "fastserve/router.hpp", "app"),
            ("server/http/src/a.cpp", "fastserve/coding/c.hpp", "coding"),
            ("server/net/src/a.cpp", "fastserve/coding/c.hpp", "coding"),
            ("server/coding/src/a.cpp", "fastserve/pool/p.hpp", "pool"),
            ("server/coding/src/a.cpp", "fastserve/net/worker.hpp", "net"),
            ("server/coding/src/a.cpp", "fastserve/response.hpp", "app"),
            ("server/files/src/a.cpp", "fastserve/net/worker.hpp", "net"),
            ("server/files/src/a.cpp", "fastserve/coding/c.hpp", "coding"),
            ("server/net/src/a.cpp", "fastserve/files/f.hpp", "files"),
            ("server/http/src/a.cpp", "fastserve/files/f.hpp", "files"),
            ("server/net/src/a.cpp", "fastserve/server.hpp", "app"),
        ):
            with self.subTest(name):
                self.assert_breach(name, f"#include <{header}>\n", f"of {of}")
                (self.root / name).unlink()

    def test_what_is_not_installed_is_not_for_users(self):
        self.write("server/net/internal/fastserve/net/worker.hpp")
        for name in ("server/cli/src/main.cpp", "server/app/include/fastserve/server.hpp"):
            with self.subTest(name):
                self.assert_breach(name, "#include <fastserve/net/worker.hpp>\n", "which is not installed")
                (self.root / name).unlink()

    def test_what_a_layer_may_not_include_at_all(self):
        for folder, header in (
            ("pool", "boost/asio.hpp"), ("pool", "pthread.h"), ("pool", "thread"), ("pool", "sys/socket.h"),
            ("server/http", "thread"), ("server/http", "mutex"), ("server/http", "sys/socket.h"),
            ("server/http", "sys/epoll.h"), ("server/http", "boost/asio.hpp"), ("server/http", "ctime"),
            ("server/http", "time.h"), ("server/http", "fstream"), ("server/http", "boost/beast/http/read.hpp"),
            ("server/http", "zlib.h"), ("server/coding", "boost/asio.hpp"), ("server/coding", "mutex"),
            ("server/coding", "fstream"), ("server/coding", "sys/socket.h"),
            ("server/files", "sys/socket.h"), ("server/files", "filesystem"), ("server/files", "boost/asio.hpp"),
        ):
            with self.subTest(folder=folder, header=header):
                name = f"{folder}/src/a.cpp"
                self.assert_breach(name, f"#include <{header}>\n", f"<{header}>")
                (self.root / name).unlink()

    def test_memory_is_mapped_in_one_file(self):
        self.write("pool/src/a.cpp", "#include <sys/mman.h>\n")
        self.assert_breach("pool/src/b.cpp", "\n#include <unistd.h>\n", "b.cpp:2: pool may include")

    def test_clocks_threads_and_output(self):
        for text, part in (
            ("auto t = std::chrono::steady_clock::now();", "clock"), ("auto t = time(nullptr);", "clock"),
            ("std::jthread t;", "threads"), ("std::this_thread::yield();", "threads"),
            ('std::cerr << "x";', "prints"), ("std::exit(1);", "prints"), ('printf("x");', "prints"),
        ):
            with self.subTest(text):
                self.assert_breach("server/http/src/a.cpp", text, part)

    def test_a_quoted_include_of_another_layer_or_of_nothing(self):
        self.write("pool/src/detail.hpp")
        self.assert_breach("server/http/src/a.cpp", '#include "../../../pool/src/detail.hpp"\n', "own layer")
        self.assert_breach("server/http/src/a.cpp", '#include "missing.hpp"\n', "own layer")

    def test_a_computed_include(self):
        self.assert_breach("server/net/src/a.cpp", "#include HEADER\n", "macro")

    def test_an_empty_tree(self):
        self.assertEqual(len(include_law.check(self.root)), 1)


class Headers(Tree):
    def compiler(self) -> headers.Compiler:
        return headers.Compiler(COMPILER, [str(self.root)])

    def test_a_header_that_needs_another_first(self):
        self.write("good.hpp", "#pragma once\n#include <cstdint>\nstd::uint8_t f();\n")
        self.write("needy.hpp", "#pragma once\nstd::uint8_t g();\n")
        self.write("bare.hpp", "struct twice {};\n")
        self.write("warned.hpp", "#pragma once\ninline int f(long x) { return x; }\n")
        found = headers.headers_of([str(self.root)])
        faults = headers.check(self.compiler(), found)
        self.assertEqual([fault.split(">")[0] for fault in faults], ["<bare.hpp", "<needy.hpp", "<warned.hpp"])

    def test_a_header_that_costs_too_much(self):
        self.write("light.hpp", "#pragma once\n#include <cstddef>\n")
        self.write("heavy.hpp", "#pragma once\n#include <regex>\n#include <filesystem>\n#include <functional>\n")
        faults = headers.check(self.compiler(), ["light.hpp", "heavy.hpp"], baseline=("string",))
        self.assertEqual(len(faults), 1, faults)
        self.assertIn("<heavy.hpp>", faults[0])


class FileLength(Tree):
    def test_long_and_too_long(self):
        self.write("pool/src/a.cpp", "\n" * file_length.WARN)
        self.assertEqual(file_length.check(self.root), ([], False))
        self.write("pool/src/b.cpp", "\n" * file_length.FAIL)
        self.assertEqual(file_length.check(self.root), ([(file_length.FAIL, "pool/src/b.cpp")], False))
        self.write("script/c", "\n" * (file_length.FAIL + 1))
        self.assertTrue(file_length.check(self.root)[1])


if __name__ == "__main__":
    unittest.main()
