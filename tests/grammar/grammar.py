"""The grammar of a request head and of a chunked body, as the RFCs have it, read left to right.

A text is Invalid at the first byte that no continuation can mend, Incomplete while one can, and otherwise complete. The
functions are named after the rules they read (RFC 9112, 9110 and 3986); where fastserve takes less than the grammar
allows, or more, the line says so.
"""

import re

# ---- bytes and words, as regular expressions over latin-1 text

ALPHA, DIGIT, HEXDIG = "A-Za-z", "0-9", "0-9A-Fa-f"
TCHAR = r"!#$%&'*+\-.^_`|~" + DIGIT + ALPHA  # RFC 9110 5.6.2
VCHAR, OBS_TEXT = r"\x21-\x7e", r"\x80-\xff"

UNRESERVED, SUB_DELIMS = r"\-._~" + ALPHA + DIGIT, r"!$&'()*+,;="  # RFC 3986 2.2, 2.3
PCT_ENCODED = f"%[{HEXDIG}][{HEXDIG}]"
# Brackets are no pchar; fastserve lets them through, since "?a[]=1" is everywhere.
PCHAR = rf"(?:[{UNRESERVED}{SUB_DELIMS}:@\[\]]|{PCT_ENCODED})"
QUERY = rf"(?:{PCHAR}|[/?])*"
PATH_ABEMPTY = f"(?:/{PCHAR}*)*"
ABSOLUTE_PATH = f"(?:/{PCHAR}*)+"

# RFC 3986 3.2.2
DEC_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9][0-9]|[0-9])"
IPV4 = rf"(?:{DEC_OCTET}\.){{3}}{DEC_OCTET}"
H16 = f"[{HEXDIG}]{{1,4}}"
LS32 = f"(?:{H16}:{H16}|{IPV4})"
IPV6 = "(?:" + "|".join([
    f"(?:{H16}:){{6}}{LS32}",
    f"::(?:{H16}:){{5}}{LS32}",
    f"(?:{H16})?::(?:{H16}:){{4}}{LS32}",
    f"(?:(?:{H16}:){{0,1}}{H16})?::(?:{H16}:){{3}}{LS32}",
    f"(?:(?:{H16}:){{0,2}}{H16})?::(?:{H16}:){{2}}{LS32}",
    f"(?:(?:{H16}:){{0,3}}{H16})?::{H16}:{LS32}",
    f"(?:(?:{H16}:){{0,4}}{H16})?::{LS32}",
    f"(?:(?:{H16}:){{0,5}}{H16})?::{H16}",
    f"(?:(?:{H16}:){{0,6}}{H16})?::",
]) + ")"
IPVFUTURE = rf"[vV][{HEXDIG}]+\.[{UNRESERVED}{SUB_DELIMS}:]+"
# An http URI has a host (RFC 9110 4.2.1), so a reg-name is not empty here.
REG_NAME = f"(?:[{UNRESERVED}{SUB_DELIMS}]|{PCT_ENCODED})+"
URI_HOST = rf"(?:\[(?:{IPV6}|{IPVFUTURE})\]|{REG_NAME})"
PORT = f"[{DIGIT}]*"

HOST = re.compile(f"{URI_HOST}(?::{PORT})?")  # RFC 9110 7.2
# RFC 9112 3.2. No user information (RFC 9110 4.2.4), no other schemes, and CONNECT names its port.
ORIGIN_FORM = re.compile(rf"(?P<path>{ABSOLUTE_PATH})(?P<mark>\?(?P<query>{QUERY}))?")
ABSOLUTE_FORM = re.compile(
    rf"(?i:http(?P<secure>s?))://(?P<host>{URI_HOST}(?::{PORT})?)"
    rf"(?P<path>{PATH_ABEMPTY})(?P<mark>\?(?P<query>{QUERY}))?")
AUTHORITY_FORM = re.compile(f"{URI_HOST}:[{DIGIT}]+")

TOKEN_RUN = re.compile(f"[{TCHAR}]*")
VALUE_RUN = re.compile(rf"[ \t{VCHAR}{OBS_TEXT}]*")
TARGET_RUN = re.compile(rf"(?:[{UNRESERVED}{SUB_DELIMS}:/?@\[\]]|{PCT_ENCODED})*")
BLANK_RUN = re.compile(r"[ \t]*")
HEX_RUN = re.compile(f"[{HEXDIG}]*")
QDTEXT_RUN = re.compile(rf"[ \t\x21\x23-\x5b\x5d-\x7e{OBS_TEXT}]*")

# Methods that fastserve knows: those of RFC 9110 and what the IANA registry has besides. Others are answered 501.
METHODS = frozenset(
    "DELETE GET HEAD POST PUT CONNECT OPTIONS TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK BIND REBIND "
    "UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PATCH PURGE MKCALENDAR LINK "
    "UNLINK".split()
)

# Limits of fastserve's, not of the grammar.
MOST_EMPTY_LINES, LONGEST_METHOD, LONGEST_TARGET, MOST_FIELDS = 8, 32, 8192, 100
LONGEST_CHUNK_LINE, MOST_TRAILER_BYTES, MOST_TRAILER_FIELDS, MOST_BODY = 256, 4096, 32, 1 << 20


class Invalid(Exception):
    pass


class Incomplete(Exception):
    pass


class Reader:
    def __init__(self, text: str):
        self.text, self.at = text, 0

    def peek(self) -> str:
        if self.at == len(self.text):
            raise Incomplete
        return self.text[self.at]

    def expect(self, wanted: str) -> None:
        for c in wanted:
            if self.peek() != c:
                raise Invalid(f"{c!r} expected")
            self.at += 1

    def run(self, pattern: re.Pattern, most: int | None = None) -> str:
        """What a repetition takes; it is over when another byte is there, which must be looked at next."""
        found = pattern.match(self.text, self.at).group()
        if most is not None and len(found) > most:
            raise Invalid("too long")
        self.at += len(found)
        return found

    def some(self, pattern: re.Pattern, most: int | None = None) -> str:
        found = self.run(pattern, most)
        if not found:
            self.peek()
            raise Invalid("nothing there")
        return found


# ---- the head


def request_head(text: str) -> dict:
    """empty lines, request-line CRLF, *( field-line CRLF ) CRLF (RFC 9112 2.1, 2.2)"""
    r = Reader(text)
    empty_lines = 0
    while r.peek() == "\r":
        r.expect("\r\n")
        empty_lines += 1
        if empty_lines > MOST_EMPTY_LINES:
            raise Invalid("empty lines")
    head = request_line(r)
    head["fields"] = field_lines(r, MOST_FIELDS)
    head["size"] = r.at
    host(head)
    framing(head)
    expectation(head)
    connection(head)
    return head


def request_line(r: Reader) -> dict:
    """method SP request-target SP HTTP-version CRLF (RFC 9112 3)"""
    method = r.some(TOKEN_RUN, LONGEST_METHOD)
    r.expect(" ")
    target = request_target(r, method)
    r.expect(" HTTP/")
    major = digit(r)
    r.expect(".")
    minor = digit(r)
    if major != "1":
        raise Invalid("another protocol")
    r.expect("\r\n")
    if method not in METHODS:
        raise Invalid("a method that is not implemented")
    # A higher minor version is treated as 1.1 (RFC 9110 6.2).
    return {"method": method, "minor": min(int(minor), 1), **target}


def digit(r: Reader) -> str:
    c = r.peek()
    if c not in "0123456789":
        raise Invalid("no digit")
    r.at += 1
    return c


def request_target(r: Reader, method: str) -> dict:
    """origin-form / absolute-form / authority-form / asterisk-form (RFC 9112 3.2)"""
    target = r.run(TARGET_RUN, LONGEST_TARGET)
    triple = re.compile(f"%[{HEXDIG}]?").match(r.text, r.at)  # TARGET_RUN takes whole ones only
    if not begins_a_form(target + "%" if triple else target, method):
        raise Invalid("no form of a target begins so")
    if triple and triple.end() == len(r.text):
        raise Incomplete
    if r.peek() != " " or not target:
        raise Invalid("a byte that no target has")
    none = {"target": target, "path": "", "query": "", "has_query": False, "authority": "", "secure": False}
    if method == "CONNECT":
        if not AUTHORITY_FORM.fullmatch(target):
            raise Invalid("authority-form")
        return {**none, "form": "authority", "authority": target}
    if target == "*":
        return {**none, "form": "asterisk", "path": "*"}
    found = (ORIGIN_FORM if target[0] == "/" else ABSOLUTE_FORM).fullmatch(target)
    if not found:
        raise Invalid("no form of a target")
    parts = found.groupdict()
    has_query = parts["mark"] is not None
    # An absolute-form without a path means "/", or with OPTIONS the whole server (RFC 9112 3.2.1, 3.2.4).
    path = parts["path"] or ("*" if method == "OPTIONS" and not has_query else "/")
    return {**none, "form": "origin" if target[0] == "/" else "absolute", "path": path, "query": parts["query"] or "",
            "has_query": has_query, "authority": parts.get("host") or "", "secure": bool(parts.get("secure"))}


def begins_a_form(start: str, method: str) -> bool:
    if method == "CONNECT" or start == "" or start[0] == "/" or (start == "*" and method == "OPTIONS"):
        return True
    lower = start[:8].lower()
    return any(scheme.startswith(lower) or lower.startswith(scheme) for scheme in ("http://", "https://"))


def field_lines(r: Reader, most: int, most_bytes: int | None = None) -> list[tuple[str, str]]:
    """*( field-name ":" OWS field-value OWS CRLF ) CRLF (RFC 9112 5), without obs-fold (5.2)"""
    begin, lines = r.at, []

    def bounded() -> None:
        if most_bytes is not None and r.at - begin > most_bytes:
            raise Invalid("too many bytes of trailers")

    try:
        while r.peek() != "\r":
            if len(lines) == most:
                raise Invalid("too many lines")
            name = r.some(TOKEN_RUN)
            r.expect(":")
            value = r.run(VALUE_RUN)
            r.expect("\r\n")
            bounded()
            lines.append((name, value.strip(" \t")))
        r.expect("\r\n")
        bounded()
    except Incomplete:
        bounded()
        raise
    return lines


# ---- what the fields of a head say together


def values(head: dict, name: str) -> list[str]:
    return [value for n, value in head["fields"] if n.lower() == name]


def members(lines: list[str]) -> list[str]:
    """#element over all lines, empty ones skipped (RFC 9110 5.6.1.2); those read here are not case-sensitive"""
    return [m for value in lines for part in value.split(",") if (m := part.strip(" \t").lower())]


def host(head: dict) -> None:
    """RFC 9112 3.2"""
    hosts = values(head, "host")
    if len(hosts) > 1 or (not hosts and head["minor"] == 1):
        raise Invalid("Host")
    if hosts:
        # Empty only if the target URI may have no authority.
        empty = hosts[0] == "" and head["form"] in ("origin", "asterisk")
        if not empty and not HOST.fullmatch(hosts[0]):
            raise Invalid("Host")
    # The target's authority counts more (RFC 9112 3.2.2).
    head["host"] = head["authority"] or (hosts[0] if hosts else "")


def framing(head: dict) -> None:
    """RFC 9112 6.1, 6.3. Lists of equal lengths, and two lines of either field, are refused: stricter."""
    lengths, codings = values(head, "content-length"), values(head, "transfer-encoding")
    head["framing"], head["length"] = "none", 0
    if codings:
        if lengths or head["minor"] == 0 or len(codings) > 1 or codings[0].lower() != "chunked":
            raise Invalid("Transfer-Encoding")
        head["framing"] = "chunked"
    elif lengths:
        if len(lengths) > 1 or not re.fullmatch("[0-9]+", lengths[0]) or int(lengths[0]) >= 1 << 64:
            raise Invalid("Content-Length")
        head["framing"], head["length"] = "length", int(lengths[0])


def expectation(head: dict) -> None:
    """RFC 9110 10.1.1"""
    wanted = members(values(head, "expect")) if head["minor"] == 1 else []
    if any(member != "100-continue" for member in wanted):
        raise Invalid("Expect")
    head["expects"] = bool(wanted) and (head["framing"] == "chunked" or head["length"] != 0)


def connection(head: dict) -> None:
    """RFC 9112 9.3, RFC 9110 7.8"""
    options = members(values(head, "connection"))
    head["keep_alive"] = "close" not in options and (head["minor"] == 1 or "keep-alive" in options)
    head["upgrade"] = "upgrade" in options and head["minor"] == 1 and bool(values(head, "upgrade"))


# ---- the chunked coding


def chunked_body(text: str) -> dict:
    """*chunk last-chunk trailer-section CRLF (RFC 9112 7.1)"""
    r = Reader(text)
    body = []
    left = MOST_BODY
    while True:
        size = chunk_line(r, left)
        if size == 0:
            break
        left -= size
        data = r.text[r.at:r.at + size]
        if len(data) < size:
            raise Incomplete
        r.at += size
        body.append(data)
        r.expect("\r\n")
    begin = r.at
    field_lines(r, MOST_TRAILER_FIELDS, MOST_TRAILER_BYTES)
    return {"size": r.at, "body": "".join(body), "trailers": text[begin:r.at - 2]}


def chunk_line(r: Reader, left: int) -> int:
    """1*HEXDIG chunk-ext CRLF"""
    begin = r.at
    try:
        digits = r.some(HEX_RUN)
        size = int(digits, 16)
        if size >= 1 << 64:
            raise Invalid("a size beyond 64 bits")
        if r.peek() in "; \t\r" and size > left:
            raise Invalid("too much")
        chunk_ext(r)
    except Incomplete:
        if r.at - begin > LONGEST_CHUNK_LINE:
            raise Invalid("a chunk line") from None
        raise
    if r.at - begin > LONGEST_CHUNK_LINE:
        raise Invalid("a chunk line")
    r.expect("\r\n")
    return size


def chunk_ext(r: Reader) -> None:
    """*( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ) (RFC 9112 7.1.1)"""
    blank = r.run(BLANK_RUN)
    while r.peek() == ";":
        r.expect(";")
        r.run(BLANK_RUN)
        r.some(TOKEN_RUN)
        blank = r.run(BLANK_RUN)
        if r.peek() == "=":
            r.expect("=")
            r.run(BLANK_RUN)
            if r.peek() == '"':
                quoted_string(r)
            else:
                r.some(TOKEN_RUN)
            blank = r.run(BLANK_RUN)
    if blank or r.peek() != "\r":
        raise Invalid("chunk-ext")


def quoted_string(r: Reader) -> None:
    r"""DQUOTE *( qdtext / "\" ( HTAB / SP / VCHAR / obs-text ) ) DQUOTE (RFC 9110 5.6.4)"""
    r.expect('"')
    while True:
        r.run(QDTEXT_RUN)
        if r.peek() == '"':
            break
        r.expect("\\")
        if not VALUE_RUN.fullmatch(r.peek()):
            raise Invalid("quoted-pair")
        r.at += 1
    r.expect('"')
