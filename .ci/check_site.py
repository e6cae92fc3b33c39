"""Check a built site: check_site.py FOLDER.

Links and anchors within the site exist; no page loads anything from elsewhere. Chromium then opens
each page from disk: nothing may fail to load, the console stays free of errors, and no page is
wider than the window, in two widths. Links to other sites are for `sphinx-build -b linkcheck`.
"""

import shutil
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from playwright.sync_api import Page, sync_playwright

WIDTHS = (1280, 360)
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Links(HTMLParser):
    """The ids of a page, the links of its text, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attributes if value}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if tag in LOADED and LOADED[tag] in found and found.get("rel") != "canonical":
            self.loaded.add(found[LOADED[tag]])


def check_links(folder: Path) -> list[str]:
    """The links that lead nowhere, and what is loaded from another site."""
    pages = {path: Links(path) for path in folder.rglob("*.html")}
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        for url in sorted(page.links | page.loaded):
            where = urlsplit(url)
            if where.scheme or where.netloc:
                if url in page.loaded and where.scheme != "data":
                    wrong.append(f"{name}: loads {url}")
                continue
            file, anchor = urldefrag(url)
            target = (path.parent / unquote(urlsplit(file).path)).resolve() if file else path
            if not target.is_file():
                wrong.append(f"{name}: {url} does not exist")
            elif anchor and target in pages and unquote(anchor) not in pages[target].ids:
                wrong.append(f"{name}: {url}: no such anchor")
    return wrong


def open_page(page: Page, path: Path) -> list[str]:
    """What is wrong with a page, in each width."""
    wrong: list[str] = []
    handlers = {
        "console": lambda said: wrong.append(said.text) if said.type == "error" else None,
        "pageerror": lambda error: wrong.append(str(error)),
        "requestfailed": lambda request: wrong.append(f"{request.url} cannot be loaded"),
        "request": lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:"))
            else wrong.append(f"loads {request.url}")
        ),
    }
    for event, handler in handlers.items():
        page.on(event, handler)
    page.goto(path.as_uri())
    page.evaluate("window.MathJax?.startup?.promise")  # resolved when the formulas are drawn
    if page.query_selector("mjx-merror"):
        wrong.append("a formula is wrong")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append(f"{wide} pixels wide in a window of {width}")
    for event, handler in handlers.items():
        page.remove_listener(event, handler)
    return wrong


def check_in_browser(folder: Path) -> list[str]:
    """What Chromium finds wrong."""
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        for path in sorted(folder.rglob("*.html")):
            wrong += [f"{path.relative_to(folder)}: {what}" for what in open_page(page, path)]
        browser.close()
    return wrong


def main(folder: Path) -> int:
    start = time.perf_counter()
    wrong = check_links(folder)
    if shutil.which("chromium"):
        wrong += check_in_browser(folder)
    else:
        print("there is no chromium: the pages were not opened")
    print(*wrong, sep="\n")
    count = len(list(folder.rglob("*.html")))
    print(f"{count} pages, {len(wrong)} errors, {time.perf_counter() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
