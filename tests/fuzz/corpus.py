#!/usr/bin/env python3
"""Writes what the fuzz targets start from: a few dozen inputs each, one folder a target.

    corpus.py FOLDER

How an input is laid out is said at the top of each target. An input that once found something is added here, with what
it found.
"""

import sys
from pathlib import Path

# ---- heads


def head(line: str, *fields: str) -> bytes:
    return "\r\n".join([line, *fields, "", ""]).encode("latin-1")


def get(target: str = "/", *fields: str) -> bytes:
    return head(f"GET {target} HTTP/1.1", "Host: a", *fields)


HEADS = [
    get(),
    head("GET / HTTP/1.0"),
    head("HEAD /a?b HTTP/1.2", "Host: localhost:8080"),
    b"\r\n\r\n" + get(),
    get("/a/b;c=1/d-._~!$&'()*+,:@=?x=/?:@&y[]=%20%aF"),
    head("OPTIONS * HTTP/1.1", "Host: a"),
    head("OPTIONS http://a HTTP/1.1", "Host: b"),
    head("GET http://[::1]:80/?q HTTP/1.1", "Host: b"),
    head("GET https://example.com HTTP/1.1", "Host: example.com"),
    head("CONNECT a:443 HTTP/1.1", "Host: a:443"),
    get("/", "Connection: close, x", "Connection: keep-alive"),
    get("/", "Connection: Upgrade", "Upgrade: websocket"),
    head("POST / HTTP/1.1", "Host: a", "Content-Length: 18446744073709551615", "Expect: 100-continue"),
    head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Expect: 100-continue"),
    head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked"),
    head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Content-Length: 1"),
    head("GET / HTTP/1.1", "Host: a", "Host: a"),
    head("GET / HTTP/1.1"),
    head("GET / HTTP/1.1", "Host: a b"),
    head("GET / HTTP/1.1", "Host: [1:2:3:4:5:6:7.8.9.0]:"),
    head("GET / HTTP/1.1", "Host: %41.example"),
    head("GET / HTTP/2.0", "Host: a"),
    head("BREW /pot HTTP/1.1", "Host: a"),
    get("/%4g"),
    get("/", "X-A:", "X-B: \t v \t", "X-C:\xe9", "!#$%&'*+-.^_`|~09: 1"),
    get("/", "X-A: 1", " folded"),
    get("/", "X-A : 1"),
    get("/", "X-A: 1\n"),
    get("/", "X-A: \x00"),
    get("/", "Cookie: " + "c" * 300, "Accept: */*"),
    get("/" + "x" * 130),
    get("/", *[f"X-{n}: {n}" for n in range(40)]),
    get() + get("/second"),
]


def with_cuts(options: int, cuts: list[int], text: bytes) -> bytes:
    """The layout of the parser's and the decoder's targets."""
    return bytes([options & 0xF8 | len(cuts)]) + b"".join(cut.to_bytes(2, "big") for cut in cuts) + text


def parser() -> list[bytes]:
    inputs = [with_cuts(0, [], text) for text in HEADS]
    for n, text in enumerate(HEADS):
        inputs.append(with_cuts((n % 8) << 3, [n % len(text), len(text) // 2, len(text) - 1], text))
    return inputs


# ---- chunked bodies

BODIES = [
    b"0\r\n\r\n",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhello\r\n000\r\n\r\nGET / HTTP/1.1\r\n",
    b"A\r\n0123456789\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
    b'5;a;b=c;d="e\\"; f"\r\nhello\r\n0;last\r\n\r\n',
    b'5 ;\ta = b \t; c = ""\r\nhello\r\n0\r\n\r\n',
    b"0\r\nX-Sum: 1\r\nX-Other:\r\nContent-Length: 5\r\n\r\n",
    b"3\r\n\r\n0\r\n0\r\n\r\n",
    b"5\nhello\n0\n\n",
    b"5\r\nhelloX\r\n0\r\n\r\n",
    b"5\r\nhello\r0\r\n\r\n",
    b"0x5\r\nhello\r\n0\r\n\r\n",
    b"-1\r\n",
    b"\r\n",
    b"fffffffffffffff\r\n",
    b"ffffffffffffffff\r\n",
    b"10000000000000000\r\n",
    b"5;=a\r\nhello\r\n0\r\n\r\n",
    b"5; \r\nhello\r\n0\r\n\r\n",
    b"5 \r\nhello\r\n0\r\n\r\n",
    b'5;a="\r\nhello\r\n0\r\n\r\n',
    b"0\r\n: x\r\n\r\n",
    b"0\r\nX : x\r\n\r\n",
    b"0\r\nX: \x00\r\n\r\n",
    b"0\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n",
    b"1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nx\r\n0\r\n\r\n",
]


def chunked() -> list[bytes]:
    inputs = [with_cuts(0, [], text) for text in BODIES]
    for n, text in enumerate(BODIES):
        inputs.append(with_cuts((n % 32) << 3, [n % len(text), len(text) // 2, len(text) - 1], text))
    return inputs


# ---- multipart bodies

DISPOSITION = b"\r\nContent-Disposition: form-data; name="
MULTIPARTS = [
    ("b", b"--b--"),
    ("b", b"--b" + DISPOSITION + b"a\r\n\r\n1\r\n--b--\r\n"),
    ("b", b"--b" + DISPOSITION + b"a\r\n\r\n--b" + DISPOSITION + b"a\r\n\r\n\r\n--b--"),
    ("----WebKitFormBoundaryx",
     b"------WebKitFormBoundaryx" + DISPOSITION + b'"f"; filename="C:\\d\\\xc3\xa9 %22.png"\r\n'
     b"Content-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\r\n------WebKitFormBoundaryx--\r\n"),
    ('"a b"',
     b"preamble\r\n--a \r\n--a b \t" + DISPOSITION + b'"%0D%0a\\"\\\\"\r\n\r\n\r\n--a\r\n--a b-- \t\r\nepilogue'),
    ("b", b"--b" + DISPOSITION + b"a; filename=x; filename*=utf-8''y\r\nX: y\r\n\r\n\r\r\n\r\n-\r\n--\r\r\n--b--"),
    ("bb", b"--bb" + DISPOSITION + b"a\r\n\r\n" + b"\r\n--b" * 20 + b"\r\n--bb--"),
    ("b", b"--b" + DISPOSITION + b'"con"; filename="../con . "\r\n\r\n\r\n--b--'),
    ("b", b"--b" + DISPOSITION + b"a\r\n\r\n1\r\n--bc\r\n"),
    ("b", b"--b\nContent-Disposition: form-data; name=a\n\n1\n--b--\n"),
    ("b", b"--b\r\nX: \x00\r\n\r\n--b--"),
    ("b", b"--b\r\nX: y\r\n\r\n--b--"),
    ("b", b"--b" + DISPOSITION + b"a; name=a\r\n\r\n--b--"),
    ("b; boundary=c", b"--b--"),
    ("b" * 70, b"--" + b"b" * 70 + DISPOSITION + b"a\r\n\r\n" + b"b" * 90 + b"\r\n--" + b"b" * 70 + b"--"),
    ("b", b"x" * 40 + b"\r\n--b--" + b" " * 40),
    ("b", (b"--b" + DISPOSITION + b"a\r\n\r\n1234567890\r\n") * 5 + b"--b--"),
]


def multipart() -> list[bytes]:
    inputs = []
    for n, (boundary, body) in enumerate(MULTIPARTS):
        text = b"multipart/form-data; boundary=" + boundary.encode() + b"\n" + body
        cuts = [n % len(body), len(body) // 2, len(body) - 1]
        inputs += [with_cuts(0, [], text), with_cuts(0, cuts, text), with_cuts((n % 31 + 1) << 3, cuts, text)]
    return inputs


# ---- conversations


def conversation(shape: int, kinds: int, script: bytes, sent: bytes, memory: int = 0) -> bytes:
    return bytes([shape, memory, kinds, len(script)]) + script + sent


def step(code: int, argument: int = 0) -> bytes:
    return bytes([argument << 3 | code])


def some(argument: int) -> bytes:
    return step(0, argument)


def many(argument: int) -> bytes:
    return step(1, argument)


def sends(argument: int) -> bytes:
    return step(6, argument)


def passes(argument: int) -> bytes:
    """2^argument ms."""
    return step(4, argument)


def writes(argument: int) -> bytes:
    """One of the sizes of fuzz_machine.cpp."""
    return step(2, 8 + argument)


READ, INTERIM, EARLY, THROW = step(2, 1), step(2, 16), step(2, 19), step(2, 20)
FINISH, WRITABLE, BREAK, DRAIN, HALF_CLOSE = step(2), step(3), step(7, 0), step(7, 1), step(7, 2)


def post(target: str, body: bytes, *fields: str) -> bytes:
    return head(f"POST {target} HTTP/1.1", "Host: a", *fields, f"Content-Length: {len(body)}") + body


def post_chunks(target: str, body: bytes, *fields: str) -> bytes:
    return head(f"POST {target} HTTP/1.1", "Host: a", *fields, "Transfer-Encoding: chunked") + body


def machine() -> list[bytes]:
    hello, last = BODIES[1], head("GET /close HTTP/1.1", "Host: a")
    large = get("/large?" + "x" * 40)
    streams = [
        get(),
        get() + get("/204") + get("/304") + get("/500"),
        head("HEAD /large?xxxxxxxxx HTTP/1.1", "Host: a") + get(),
        large + get() + large,
        post("/p", b"hello") + post("/q", b"") + get(),
        post("/p", b"hello", "Expect: 100-continue") + get(),
        post_chunks("/p", hello) + post_chunks("/q", hello, "Expect: 100-continue") + get(),
        post("/no", b"hello") + post_chunks("/no", hello) + get(),
        post("/p", b"x" * 2001) + get(),
        post("/p", b"hello")[:-2],
        post_chunks("/p", b"5\r\nhelloX\r\n") + get(),
        post_chunks("/no", b"5\r\nhelloX\r\n") + get(),
        last + get(),
        get("/", "Connection: close") + get(),
        head("GET / HTTP/1.0") + get(),
        head("GET / HTTP/1.0", "Connection: keep-alive") + get(),
        b"\r\n" + get() + b"\r\n\r\n" + get(),
        get() + head("GET / HTTP/1.1"),
        get("/", "X-Wide: " + "w" * 1200),
        get("/" + "x" * 2100),
        get() * 12,
        post("/echo", b"hello") + post_chunks("/echo", hello) + get(),
        post_chunks("/piece?" + "x" * 30, hello, "Expect: 100-continue") + post("/piece?x", b"hello") + get(),
        post("/echo", b"x" * 1999) + head("POST /echo HTTP/1.0", "Content-Length: 5") + b"hello" + get(),
        get("/none?x") + head("HEAD /piece?xxxxx HTTP/1.1", "Host: a") + get("/piece?" + "x" * 49) + get(),
        head("GET /piece?xx HTTP/1.0", "Connection: keep-alive") + get(),
        post_chunks("/echo", b"5\r\nhello\r\nX\r\n") + get(),
        post_chunks("/piece", b"7d1\r\n" + b"x" * 2001 + b"\r\n0\r\n\r\n") + get(),
        post("/echo", b"hello", "Expect: 100-continue")[:-3],
    ]
    scripts = [
        b"",
        many(31),
        some(2) * 60 + FINISH + some(2) * 60,
        many(1) + FINISH + many(1) + FINISH + many(2) + WRITABLE,
        sends(1) + many(31) + WRITABLE * 5 + FINISH + WRITABLE * 5,
        sends(2) + many(31) + FINISH + WRITABLE + FINISH,
        sends(0) + many(31) + WRITABLE * 9,
        many(31) + HALF_CLOSE + FINISH,
        many(1) + DRAIN + many(31) + FINISH,
        many(1) + BREAK,
        many(1) + passes(13) + many(31) + passes(17),
        many(31) + passes(7) + FINISH + passes(17),
        many(31) + INTERIM + READ + writes(0) + writes(1) + READ + writes(3) + FINISH * 9,
        sends(2) + many(2) + READ + many(1) + writes(6) + WRITABLE * 9 + READ * 2 + EARLY + WRITABLE * 9,
        sends(1) + many(2) + READ + writes(0) + READ + INTERIM + WRITABLE * 3 + passes(12) + READ + WRITABLE,
        many(31) + READ * 2 + writes(7) + THROW,
        many(31) + READ + EARLY + FINISH,
        many(4) + READ + some(2) * 60 + READ + HALF_CLOSE + FINISH * 9,
        sends(3) + many(31) + READ * 3 + writes(7) + passes(17) + WRITABLE,
    ]
    inputs = []
    for n, sent in enumerate(streams):
        inputs.append(conversation(0, 0, b"", sent))
        inputs.append(conversation(0, 0, some(0) * 255, sent))
        inputs.append(conversation(0, 0xE4, some(6) * 40, sent))
        for m, script in enumerate(scripts):
            if (n + m) % 4 == 0:
                kinds = (0x1B, 0xAA, 0xFF, 0x55, 0xE4)[(n + m) % 5]
                inputs.append(conversation((n * 37 + m * 11) & 0xFF, kinds, script, sent))
    # A body that would be a request, left by its handler when nothing of it has come.
    for whole in (post("/piece", get("/500")), post_chunks("/piece", b"1e\r\n" + get("/500") + b"\r\n0\r\n\r\n")):
        size = whole.index(b"\r\n\r\n") + 4
        inputs.append(conversation(0, 0, many(size // 50) + some(size % 50 - 1) + EARLY, whole + get()))
    for memory in (0, 1, 4, 16, 255):
        inputs.append(conversation(14, 0xE4, scripts[5], streams[6] + large, memory))
    return inputs


# ---- routes

TABLES = [
    "G/",
    "G/a\nP/a\n*/a\nH/a",
    "G/users/{id}\nP/users/me\nG/users/{id}/files/{path...}",
    "G/{a}/{b}\nG/{a}/x\nG/x/{b}\nG/{rest...}",
    "G/a b\nG/%61%20b\nG/a%2Fb\nG/%7Bx%7D",
    "G/{a}/{a}\nG/{a}.json\nGno\nG/{rest...}/x\nG/{}\nG/{a\nG/a}\nG/%\nG/%00\nG/a?b",
    "G/a/\nG/a\nG//a\nG/{x}/",
    "G/a-longer-segment-than-two-words\nG/a-longer-segment\nG/a-longer",
    "O/{x...}\n*/y/{x}\nG/y/z",
    "\n".join("G/" + "/".join(f"{{p{n}}}" for n in range(count)) for count in (1, 2, 15, 16, 17)),
    "G" + "/a" * 32 + "\nG" + "/b" * 33,
]
PATHS = (
    ["/", "/a", "/a/", "//a", "/users/me", "/users/7", "/users/7/files/", "/users/7/files/a/b", "/x/y", "/a%20b"]
    + ["/a%2fb", "/%7bx%7D", "/%41", "/%", "/%4", "/%zz", "/%00", "*", "", "/a-longer-segment", "/a-longer-segmenT"]
    + ["/a" * 32, "/b" * 33, "/" * 20, "/\x00\xff", "/y/z", "/y/w", "/%e2%82%ac/%2E%2e"]
)


def router() -> list[bytes]:
    # A few paths each: what an input costs grows with both lists.
    return [
        (table + "\n\n" + "\n".join(PATHS[begin:begin + 6])).encode("latin-1")
        for table in TABLES
        for begin in range(0, len(PATHS), 6)
    ]


# ---- responses

ANSWERS = [
    b"sX-A:b\n",
    b"sX-A: b \naX-A:\t\nax-a:3\n",
    b"sContent-Type:text/plain\ntapplication/json\nBhello\n",
    b"ttext/html\ntx\naContent-Type:y\nrcontent-type\n",
    b"sX-A:b\r\nX-Evil: 1\n",
    b"sA:b: c: d\nrA: b\nra: B: c\nrA\n",  # removed: what is asked for was taken for a name up to any colon
    b"sX-A:b\rc\nsX-A:\x00\nsX-A:\x7f\n",
    b"sX A:b\ns:b\nsX\r\nY:b\ns\x00:b\n",
    b"sContent-Length:5\naTransfer-Encoding:chunked\nsConnection:close\nsConnection:upgrade\n",
    b"aCONNECTION:Close\nrconnection\n",
    b"sDate:now\nsServer:me\nrDate\nnother\nn\nn x\nn" + b"n" * 65 + b"\n",
    b"sServer:\nsDate:\n",
    b"S\x00\xfeBno\nL\x00\x07",
    b"S\x01\x94Bno\nL\x00\x07",
    b"S\x01\x31sUpgrade:x\nC",
    b"S\x00\xc9sUpgrade:x\n",
    b"Zc\x00\x00\x01",
    b"ZL\x12\x34c\x01\x01\x01",
    b"Zc\x00\x01\x01",
    b"c\x01\x00\x00Bbody\nL\x00\x09",
    b"S\x01\x31Bbody\n",
    b"bX-Sum:1\nbX-Sum: 2\t\nbX:\r\nbContent-Length:1\n",
    b"x\x01\x94Allow:GET\nx\x01\xf7Retry-After: 1 \nx\x01\x90X:\r\n",
    b"x\x00\x63A:b\nx\x03\xe8A:b\nx\x00\x64A:b\nx\x01\x30:\n",
    b"sX:" + b"v" * 700 + b"\nsY:" + b"w" * 60 + b"\nrX\n",
    b"aSet-Cookie:a\naSet-Cookie:b\naSet-Cookie:c\nrset-cookie\naSet-Cookie:d\n",
    b"sX:1\nCBhello\nRsY:2\n",
]


def serializer() -> list[bytes]:
    return ANSWERS + [b"c\x00\x01\x01" + answer for answer in ANSWERS]


# ---- values of fields, and forms

COOKIES = [
    (0, "", b"a=1; b=2; a=3"),
    (0, "a\n1\n\n", b'a="x; b=2; c=y"'),
    (1, "__Host-a\n1\n\n/", b" =1;; b ;\ta=b=c \t; a = d"),
    (1, "__Secure-a\n\"x\"\na.example\n/b", b"caf\xc3\xa9=\xff; (x)=\x00"),
    (7 | 3 << 3 | 32, "a\n1\n.a.b\n/", b"a"),
    (1 << 3 | 64, "!#$%&'*+-.^_`|~\n\n\n", b"="),
    (2 << 3 | 32 | 64 | 128, "a\n\n\n", b";"),
    (64 | 128, "a\n\n\n", b""),
    (4, "a\n1\n\n", b""),
    (3 << 3, "a\n1; HttpOnly\na..b\nx", b""),
]


def cookies() -> list[bytes]:
    return [bytes([options]) + cookie.encode() + b"\n" + read for options, cookie, read in COOKIES]


FORMS = [
    b"a=1&b=2&a=3", b"a+b=c%20d&%61%2B=%2b", b"&&a&=b&=&c==&", b"%=1&a=%4&b=%zz&c=%00&d=5",
    b"a\x00=1&b=\x00&c=\xe2\x82\xac",
    b"a=1;b=2", b"%25%32%35=%2525", b"a=1&a=%&a=2", b"none=1&%6eone=2&%", b"x=" + b"%41+" * 20,
]


def forms() -> list[bytes]:
    return [bytes([most]) + text for text in FORMS for most in (0, 2, 255)]


RANGES = [
    "0-4", "5-", "-3", "-0", "9-", "0-,-1", "4-5,0-1", "0-1,8-9,4-5,2-7", "0-0,2-2,4-4,6-6,1-1",
    "4-0", "a-1", "0-1 2-3", ",, 0-1 ,\t2-3,", "", ",", "0-18446744073709551616", "18446744073709551616-",
    "-99999999999999999999",
    "000000000-00001",
    ",".join("0-" for _ in range(16)), ",".join("0-" for _ in range(17)),
    ",".join(f"{2 * n}-{2 * n}" for n in range(16)),
]


def ranges() -> list[bytes]:
    sizes = [b"\x00\x00\x00", b"\x00\x0a\x00", b"\xff\xff\x30"]
    inputs = [size + b"bytes=" + text.encode() for text in RANGES for size in sizes]
    return inputs + [sizes[1] + text for text in (b"Bytes=0-", b"items=0-", b"bytes", b"bytes =0-", b"")]


# ---- paths of files

FILES = [
    "", "a", "a/", "a/b.css", "a%20b/%C3%A9.txt", "%61", "%25%32%66", "...", "a..", "/", "/a", "a//b", ".", "..",
    "../a", "a/../b", "%2e%2E/a", ".%2e", "a%2fb", "..%2fa", "a%5cb", "..\\a", "%00", "a\x00b", "%", "%4", "%zz",
    ".env", ".git/config", ".well-known/acme", "%2ewell-known/a", "a/.well-known/b", ".well-known/.git",
    "index.HTML", "a.tar.gz", "x" * 255, "x" * 256, "%78" * 255, "%78" * 256, "a/" * 1000, "a/" * 1025,
    ("x" * 200 + "/") * 10 + "y" * 38, "\xff\x01", "a?b#c",
]


def files() -> list[bytes]:
    return [bytes([options]) + path.encode("latin-1") for path in FILES for options in (0, 1, 2)]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    for target in (parser, chunked, multipart, machine, router, serializer, cookies, forms, ranges, files):
        folder = Path(sys.argv[1]) / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for n, data in enumerate(target()):
            (folder / f"{n:03}").write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
