"""The page: well formed, escaped, alone, and narrow enough."""

import html.parser
import re

from keras_mmel.pages import page

NASTY = '<script>alert("1")</script> & \x1b[2J\u202eabc\x00 \u00a0'
VOID = {"meta", "img", "br"}


class Reader(html.parser.HTMLParser):
    """What stands in a page; fails where elements do not close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links = [], [], []
        self.text, self.marked = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "srcset", "data"):
                self.links.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] == "mark":
            self.marked.append(data)


def test_whatever_stands_in_the_data_is_escaped():
    parts = [
        page.section(NASTY, page.tiles([(NASTY, NASTY)]), NASTY),
        page.section(NASTY, page.bullets([NASTY])),
        page.section("", page.table([(NASTY, NASTY)])),
        page.section("", page.marked("", NASTY)),
        page.section("", NASTY),
    ]
    text = page.page(NASTY, NASTY, parts)
    found = Reader(text)
    assert not {"script", "link", "img"} & set(found.tags)
    assert "\x1b" not in text and "\x00" not in text
    assert "alert(&quot;1&quot;)&lt;/script&gt; &amp; \ufffd[2J" in text
    text.encode("utf-8")
    assert page.bullets([]) == ""


def test_a_page_asks_for_nothing_and_fits_every_screen():
    table = page.table([("cat", "0.5", "3")])
    text = page.page("A", "", [page.section("", table)])
    assert "http" not in text.replace('http-equiv="', "")
    assert "default-src 'none'" in text and "url(" not in text
    # A wide table scrolls by itself; the page has the reader's colours.
    assert '<div class="scroll"><table' in text
    assert ".scroll { overflow-x: auto; }" in text
    assert "prefers-color-scheme: dark" in text


def test_its_rules_are_those_of_the_page_alone():
    """A page that a notebook shows must not change the notebook."""
    style = re.search("<style>(.*?)</style>", page.page("a", "b", []), re.S)[1]
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.S)
    depth, outermost = 0, ""
    for sign in style:
        depth -= sign == "}"
        outermost += sign if depth == 0 else ""
        depth += sign == "{"
    selectors = [part.strip() for part in re.split("[{}]+", outermost)]
    known = {".mmel", "body:has(> .mmel)", ""}
    assert all(s in known or s.startswith("@media") for s in selectors)
