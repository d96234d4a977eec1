"""HTML that cannot be broken by what stands in it: text is escaped unless it is markup already."""

from html import escape
from typing import Iterable


class Markup(str):
    """Text that is HTML."""


def text(content: object) -> Markup:
    return content if isinstance(content, Markup) else Markup(escape(str(content), quote=True))


def join(parts: Iterable[object], separator: str = "") -> Markup:
    return Markup(separator.join(text(part) for part in parts if part is not None))


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is class, `aria_label` aria-label; an attribute that is None is left out."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items()
                    if value is not None)
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def table(caption: str, head: list[object], rows: Iterable[list[object]]) -> Markup:
    """A table that scrolls within itself; the first cell of a row names it."""
    columns = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = join(tag("tr", tag("th", cells[0], scope="row"), *(tag("td", cell) for cell in cells[1:])) for cells in rows)
    inner = tag("table", tag("caption", caption), tag("thead", columns), tag("tbody", body))
    return tag("div", inner, class_="scroll", role="region", aria_label=caption, tabindex="0")


def details(summary: object, *children: object) -> Markup:
    return tag("details", tag("summary", summary), *children)
