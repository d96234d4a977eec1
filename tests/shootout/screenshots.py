#!/usr/bin/env python3
"""Looks at a report in headless Chromium, 1400 and 400 pixels wide, light and dark.

    screenshots.py REPORT.html FOLDER [PART...]

First it measures, with everything unfolded: nothing may be wider than the page except what scrolls within itself, no
text may be cut, no two texts may overlap. Then it writes a picture of each part (the id of a section; `top` is how the
page opens; without any: top, ratios and hello) to FOLDER/PART-WIDTH-SCHEME.png. Exits 1 if something was wrong.
"""

import sys
from pathlib import Path

import devtools

WIDTHS, SCHEMES = (1400, 400), ("light", "dark")
TOP_HEIGHT, MOST_HEIGHT = 1600, 8000

# Returns what is wrong, in words. Positions are of the text itself, not of the box around it.
MEASURE = r"""
(() => {
  document.querySelectorAll('details').forEach(each => { each.open = true; });
  const found = [], width = document.documentElement.clientWidth;
  const name = node => {
    const element = node.nodeType === 1 ? node : node.parentElement;
    const section = element.closest('[id]');
    const kind = element.getAttribute('class') || '';
    return `${section ? '#' + section.id + ' ' : ''}${element.tagName.toLowerCase()}${kind ? '.' + kind : ''} ` +
           `"${node.textContent.trim().slice(0, 50)}"`;
  };
  if (document.documentElement.scrollWidth > width)
    found.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  for (const element of document.body.querySelectorAll('*')) {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    const scrolls = element.parentElement.closest('.scroll');
    if (box.width && !scrolls && (box.right > width + 0.5 || box.left < -0.5)) found.push(`outside: ${name(element)}`);
    if (style.overflowX !== 'visible' && !['auto', 'scroll'].includes(style.overflowX) && element.tagName !== 'svg' &&
        element.scrollWidth > element.clientWidth + 1) found.push(`cut: ${name(element)}`);
  }
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    if (!node.textContent.trim() || node.parentElement.closest('title')) continue;
    // What scrolls under a sticky cell is meant to.
    if (node.parentElement.closest('.scroll')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const sticky = !!node.parentElement.closest('nav');
    for (const box of range.getClientRects())
      if (box.width > 1 && box.height > 1 && !sticky) texts.push({box, node});
  }
  texts.sort((a, b) => a.box.top - b.box.top);
  for (let i = 0; i < texts.length; ++i) {
    const a = texts[i].box;
    for (let j = i + 1; j < texts.length && texts[j].box.top < a.bottom; ++j) {
      const b = texts[j].box;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 4 && texts[i].node !== texts[j].node)
        found.push(`overlap: ${name(texts[i].node)} and ${name(texts[j].node)}`);
    }
    if (a.right > width + 0.5 || a.left < -0.5) found.push(`text outside: ${name(texts[i].node)}`);
  }
  document.querySelectorAll('details').forEach(each => { each.open = false; });
  return {found, texts: texts.length};
})()
"""

PLACE = """
(() => {{
  const part = document.getElementById({part!r});
  if (!part) return null;
  const box = part.getBoundingClientRect();
  return {{y: box.top + window.scrollY, height: box.height}};
}})()
"""


def faults(page: devtools.Page) -> list[str]:
    measured = page.evaluate(MEASURE)
    if measured["texts"] < 20:
        return ["the page is empty"]
    return list(dict.fromkeys(measured["found"]))


def picture(page: devtools.Page, part: str, width: int) -> bytes:
    if part == "top":
        return page.screenshot(0, 0, width, TOP_HEIGHT)
    place = page.evaluate(PLACE.format(part=part))
    if place is None:
        raise SystemExit(f"the report has no part {part}")
    return page.screenshot(0, place["y"], width, min(place["height"] + 24, MOST_HEIGHT))


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    report, folder, parts = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3:] or ["top", "ratios", "hello"]
    program = devtools.browser()
    if not program:
        print(f"none of {', '.join(devtools.NAMES)} is installed: apt-get install chromium", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with devtools.Page(program) as page:
        for width in WIDTHS:
            for scheme in SCHEMES:
                page.look(width, 1000, scheme)
                page.open(report.as_uri())
                found = faults(page)
                wrong += len(found)
                said = f"{len(found)} faults" if found else "nothing cut, nothing overlapping"
                print(f"{width} pixels, {scheme}: {said}")
                print("".join(f"  {fault}\n" for fault in found[:20]), end="")
                for part in parts:
                    (folder / f"{part}-{width}-{scheme}.png").write_bytes(picture(page, part, width))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
