"""The page: well formed, escaped, alone, and narrow enough."""

import html.parser
import re

import jinja2
import numpy as np
import pytest

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


# A page of every part, each as often as a test wants.
EVERY_PART = """
{% extends "page.html" %}
{% import "parts.html" as parts %}
{% block subtitle %}{{ text }}{% endblock %}
{% block sections %}
{% call parts.section(text, text) %}
{{ text }}{{ parts.tiles([(text, text)]) }}{{ parts.bullets([text]) }}
{{ parts.marked("", text) }}{{ parts.table(rows) }}
{{ parts.views([{"place": (0, 0), "label": text}], images, texts) }}
{% endcall %}
{% endblock %}
"""


def page_of(text, rows=(), images=None, texts=None):
    environment = page.template("page.html").environment
    return environment.from_string(EVERY_PART).render(
        title=text,
        text=text,
        rows=rows,
        images=images,
        texts=texts,
    )


def test_whatever_stands_in_the_data_is_escaped():
    cells = [NASTY, {"marked": NASTY}, {"share": 0.5, "text": NASTY}]
    images = np.zeros((1, 1, 2, 2, 3), "uint8")
    for views in ({"images": images}, {"texts": [[NASTY]]}, {}):
        text = page_of(NASTY, [[NASTY, *cells]], **views)
        found = Reader(text)
        assert not {"script", "link"} & set(found.tags)
        assert ("img" in found.tags) == ("images" in views)
        assert "\x1b" not in text and "\x00" not in text
        assert "alert(&#34;1&#34;)&lt;/script&gt; &amp; \ufffd[2J" in text
        text.encode("utf-8")
        # Nothing of it is lost, and nothing is there twice.
        shown = re.sub("[\x1b\x00\u202e]", "\ufffd", NASTY)
        places = 15 + ("texts" in views)
        assert "".join(found.text).count(shown) == places
        assert 'style="width:50.0%"' in text


def test_a_table_of_a_notebook_is_escaped():
    text = page.table([(NASTY, NASTY)])
    assert not {"script", "img"} & set(Reader(text).tags)
    assert "alert(&quot;1&quot;)&lt;/script&gt; &amp; \ufffd[2J" in text
    assert "\x1b" not in text and "\x00" not in text


def test_what_a_page_is_not_given_is_missed():
    with pytest.raises(jinja2.UndefinedError, match="title"):
        page.template("page.html").render()


def test_a_page_asks_for_nothing_and_fits_every_screen():
    text = page_of("A", [("cat", "0.5", "3")])
    assert "http" not in text.replace('http-equiv="', "")
    assert "default-src 'none'" in text and "url(" not in text
    # A wide table scrolls by itself; the page has the reader's colours.
    assert '<div class="scroll"><table' in text
    assert ".scroll { overflow-x: auto; }" in text
    assert "prefers-color-scheme: dark" in text


def test_its_rules_are_those_of_the_page_alone():
    """A page that a notebook shows must not change the notebook."""
    style = re.search("<style>(.*?)</style>", page_of("a"), re.S)[1]
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.S)
    depth, outermost = 0, ""
    for sign in style:
        depth -= sign == "}"
        outermost += sign if depth == 0 else ""
        depth += sign == "{"
    selectors = [part.strip() for part in re.split("[{}]+", outermost)]
    known = {".mmel", "body:has(> .mmel)", ""}
    assert all(s in known or s.startswith("@media") for s in selectors)
