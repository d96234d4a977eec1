"""Texts for the grammar's test: heads and chunked bodies that are sound, odd or damaged."""

import random

import grammar


class Source:
    """Texts: sound ones, and those with one to three faults of a kind that parsers differ about."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, of: int) -> bool:
        return self.random.randrange(of) == 0

    def word(self, alphabet: str, most: int) -> str:
        return "".join(self.random.choices(alphabet, k=self.random.randrange(most + 1)))

    def pick(self, sound: tuple[str, ...], odd: tuple[str, ...]) -> str:
        return self.random.choice(odd if self.odd and self.chance(5) else sound)

    def next(self) -> tuple[str, str]:
        kind = "c" if self.chance(3) else "h"
        self.odd = self.chance(2)
        text = self.body() if kind == "c" else self.head()
        if self.chance(2):
            for _ in range(self.random.randrange(1, 4)):
                text = self.damaged(text)
        return kind, text

    def damaged(self, text: str) -> str:
        at = self.random.randrange(len(text) + 1)
        match self.random.randrange(8):
            case 0:
                return text[:at] + chr(self.random.randrange(256)) + text[at + 1:]
            case 1:
                return text[:at] + self.random.choice("\r\n \t:%\0\x7f;=,0\"\\") + text[at:]
            case 2:
                return text[:at] + text[at + self.random.randrange(1, 4):]
            case 3:
                # Nothing wrong yet, perhaps; in the first line as often as behind it.
                return text[:at if self.chance(2) else min(at, self.random.randrange(20))]
            case 4:
                parts = text.split("\r\n")
                n = self.random.randrange(len(parts))
                end = self.one("\n", "\r", "\r\r\n", "\r\n ", "\r\n\r\n", " \r\n")
                return "\r\n".join(parts[:n]) + (end if n else "") + "\r\n".join(parts[n:])
            case 5:
                return text[:at] + text[self.random.randrange(len(text) + 1):]
            case 6:
                return text[:at] + self.line() + "\r\n" + text[at:]
            case _:
                other = self.random.randrange(len(text) + 1)
                return text[:at] + text[min(at, other):max(at, other)] + text[at:]

    def host(self) -> str:
        count = self.random.choice((1, 4, 6, 7, 7, 8, 8, 9))
        groups = [self.word("0123456789abcdefABCDEF", 4) or "0" for _ in range(count)]
        gap = self.random.randrange(len(groups) + 1)
        return self.pick(
            ("localhost", "a.example", "127.0.0.1", "[::1]", "[1:2:3:4:5:6:7:8]", "[1:2::7.8.9.0]", "[v1f.x:y]", "%41b",
             "a!b"),
            ("[" + ":".join(groups) + "]", "[" + ":".join(groups[:gap]) + "::" + ":".join(groups[gap:]) + "]",
             "[v.x]", "[vg.x]",
             "[::" + self.one("1.2.3.4", "256.1.1.1", "01.2.3.4", "1.2.3", "1.2.3.4.5", ":", "1::") + "]", "", "a@b",
             self.word("abc-._~!$&'()*+,;=%4", 8), "%41" + self.word("a%4", 3)),
        ) + self.pick(("", "", ":", ":80", ":65536"), (":" + self.word("0123456789a", 6), "::"))

    def path(self) -> str:
        return "/" + self.word("ab09-._~!$&'()*+,;=:@/[]", 12) + self.pick(
            ("", "", "%20", "%aF", "//", "/../"), ("%", "%4", "%4g", "^", "|", "\xe9", "#", "\\"))

    def target(self, method: str) -> str:
        if method == "CONNECT":
            return self.pick(("a:80", "[::1]:443", "a.example:1"), (self.host(), self.path()))
        if method == "OPTIONS" and self.chance(2):
            return self.pick(("*", "*", "http://a", "http://a?b"), ("**", "*?a", "http://" + self.host()))
        query = self.pick(("", "", "?", "?a=b", "?a[]=/?%20"), ("?" + self.word("ab?/[]%@:", 6),))
        if self.odd and self.chance(12):
            return self.one("*", "**", "*a", "a", "?a", "htt", "http:/a", "h://a", "%41", "%4")
        if self.chance(4):
            scheme = self.pick(("http://", "https://", "HTTP://", "hTTpS://"), ("http:/", "ftp://", "http", "x"))
            return scheme + self.host() + self.one("", self.path()) + query
        return self.path() + query

    def line(self) -> str:
        match self.random.randrange(12):
            case 0:
                return "Connection: " + self.one(
                    "close", "keep-alive", "Keep-Alive , Upgrade", ",", "x,CLOSE", "", "upgrade", "close;a", '"close"')
            case 1:
                return "Expect: " + self.pick(
                    ("100-continue", "100-Continue,", "", "100-continue, 100-continue"), ("x", "100-continue, x"))
            case 2:
                return "Upgrade: x"
            case 3 if self.odd:
                return "Host: " + self.host()
            case 4 if self.odd:
                return self.word("aB0!#$%&'*+-.^_`|~", 5) + self.one("X", "X :", ":", "\xe9:", "(:")
            case _:
                value = self.word("ab \t,;\"\\:()\x80\xff{}", 12)
                return self.word("aB0!#$%&'*+-.^_`|~", 5) + self.one("X:", "X: ", "X:\t") + value

    def framing(self) -> list[str]:
        if self.chance(2):
            return []
        if self.odd and self.chance(6):
            return ["Content-Length: 5", "Transfer-Encoding: chunked"]
        if self.chance(2):
            return ["Content-Length:" + self.pick(
                ("0", " 5", "0007", "5\t", "18446744073709551615"),
                ("+5", "5,5", "18446744073709551616", "", "5a", "5 5"))]
        return ["transfer-encoding: " + self.pick(
            ("chunked", "Chunked\t"), ("gzip, chunked", "chunked,", "identity", "chunked;a", "", "chunked, chunked"))]

    def head(self) -> str:
        method = self.pick(tuple(sorted(grammar.METHODS)), ("get", "BREW", "A" * 32, "A" * 33, "SOURCE"))
        version = self.pick(("1.1", "1.1", "1.0", "1.2"), ("1.9", "2.0", "1.", "1.11", "0.9"))
        host = self.one("a", self.host())
        hosts = [] if self.odd and self.chance(4) else ["Host: " + host]
        others = [self.line() for _ in range(self.random.choice((0, 2, 5, 8, 120 if self.chance(20) else 3)))]
        lines = hosts + self.framing() + (self.framing() if self.odd and self.chance(4) else []) + others
        self.random.shuffle(lines)
        front = "\r\n" * self.random.choice((0, 0, 0, 0, 1, self.random.randrange(11)))
        line = f"{method} {self.target(method)} HTTP/{version}"
        return front + "\r\n".join([line, *lines, "", ""]) + self.one("", "", "body")

    def extensions(self) -> str:
        out = ""
        while self.chance(3):
            out += self.one(";", " ;", ";\t ", "\t;") + self.pick(("a", "x.y"), ("", "a b")) + self.pick(
                ("", "=b", " = b", '="q \\" ;"', '=""'), ('="a', "=", '= "\\\x01"', " "))
        return out

    def body(self) -> str:
        out = ""
        for _ in range(self.random.randrange(4)):
            data = self.word("ab\r\n0;", 30) or "x"
            size = f"{len(data):x}" if self.chance(2) else f"{len(data):04X}"
            out += size + self.extensions() + "\r\n" + data + "\r\n"
        if self.chance(12):
            out += self.one("fffff", "100000", "100001", "ffffffffffffffff", "10000000000000000",
                            "10000000000000000\r\n", "10000000000000001\r\nx",
                            "0" * 250, "0" * 260,
                            "1;" + "a" * 260) + "\r\n"
        out += self.one("0", "0", "000") + self.extensions() + "\r\n"
        for _ in range(self.random.randrange(3) if not self.chance(30) else self.random.choice((31, 32, 33))):
            out += self.pick(
                ("A: b", "Content-Length: 5", "X-y:", "X:" + "v" * (4080 if self.chance(9) else 9)),
                ("X", ": x", "X\t: y", " X: y")) + "\r\n"
        return out + "\r\n" + self.one("", "", "GET /")
