import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import capscope.report
import capscope_view
from capscope.report.page import render, report_page
from capscope.report.page.rendering import _environment
from support.tiny_digests import DIG, DIGEST, EVIL, big, changed, hostile

FOLDERS = [Path(package.__file__).parent for package in (capscope.report, capscope_view)]
SCRIPTS = [path for folder in FOLDERS for path in sorted((folder / "assets").glob("*.js"))]


def policy_of(page):
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    parts = (part.strip().partition(" ") for part in found[1].split(";"))
    return {name: rest.split() for name, _, rest in parts}


def test_the_policy_lets_run_the_scripts_of_the_page_and_nothing_else():
    page = report_page(DIGEST)
    ours = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in ours]
    policy = policy_of(page)
    assert policy["script-src"] == [f"'sha256-{text}'" for text in hashes]
    assert len(hashes) == len(set(hashes)) == 11
    assert policy["default-src"] == ["'none'"]
    assert policy["img-src"] == ["data:"]


def test_a_page_names_no_address_to_load_from():
    page = report_page(DIGEST)
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", outside)
    assert "http://" not in outside
    assert "https://" not in outside


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_cannot_end_its_own_element(script):
    text = script.read_text(encoding="utf-8").lower()
    assert "</script" not in text
    assert "<!--" not in text
    assert "\r" not in text


def test_our_scripts_write_text_and_never_html():
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b")
    ours = [path for path in SCRIPTS if path.name != "libraries.js"]
    assert len(ours) >= 10
    assert not [path.name for path in ours if forbidden.search(path.read_text(encoding="utf-8"))]


def test_all_scripts_together_are_small():
    assert sum(path.stat().st_size for path in SCRIPTS) < 900_000


def test_everything_is_escaped_in_every_template():
    assert _environment().autoescape is True
    for template in (path for folder in FOLDERS for path in (folder / "templates").iterdir()):
        assert "|safe" not in template.read_text(encoding="utf-8")


def test_no_markup_of_a_hostile_digest_is_markup_of_the_page():
    page = report_page(hostile())
    assert page.count("<script") == report_page(DIGEST).count("<script")
    assert "<img" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert html.escape(EVIL.partition("{{")[0], quote=False).partition('"')[0] in page


def test_characters_that_do_not_show_are_spelled_out():
    page = report_page(hostile())
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "\\u202egnp.exe\\x1b[31m" in page


def test_half_a_character_does_not_keep_a_report_from_being_written():
    page = report_page(changed(DIGEST, problem="lamp \udcff"))
    assert "lamp \\udcff" in page.encode().decode()


def test_what_scripts_read_is_what_the_digest_says():
    data = re.search(r'id="digest">(.*?)</script>', report_page(DIGEST), re.DOTALL)[1]
    read = json.loads(data)
    assert [capability["intent"] for capability in read["capabilities"]] == [
        capability["intent"] for capability in DIGEST["capabilities"]
    ]
    assert read["map"]["edges"][1] == [0, 2, 0, 0.25, 10]
    assert read["states"]["0"] == ["s0", ["at(switch)"], 700, DIGEST["states"][0]["picture"]]
    assert read["capabilities"][0]["rules"][0]["draws"][1]["transcript"].startswith("user: light\n")


def test_data_in_a_script_holds_no_sign_that_html_reads():
    data = re.search(r'id="digest">(.*?)</script>', report_page(hostile()), re.DOTALL)[1]
    assert not re.findall("[<>&\u2028\u2029]", data)


def test_not_a_number_is_refused_for_no_browser_could_read_it():
    first, last = DIGEST["learning"]
    odd = (first[0], float("nan"), *first[2:])
    with pytest.raises(ValueError, match="JSON"):
        report_page(changed(DIGEST, learning=(first, odd, last)))


def test_capabilities_that_differ_in_signs_only_have_places_of_their_own():
    names = ["on(a,b)", "on(a, b)", "ON(a,b)", "on-a-b-2", "(…)"]
    renamed = tuple(changed(DIG, intent=name) for name in names)
    page = report_page(changed(DIGEST, capabilities=renamed))
    places = re.findall(r'<tbody class="capability" id="([^"]*)"', page)
    assert places == [f"capability-on-a-b{end}" for end in ("", "-2", "-3", "-2-2")] + [
        "capability-"
    ]


def test_a_report_of_a_run_that_saw_nothing_can_be_written():
    empty = changed(
        DIGEST,
        facts=(),
        always=(),
        cards=(),
        screen=replace(DIGEST["screen"], rows=(), warnings=(), declined=(), unknown=""),
        heat=changed(DIGEST["heat"], rows=()),
        audit=None,
        overview=changed(DIGEST["overview"], groups=(), edges=()),
        capabilities=(),
        learning=(),
        spending=(),
        coverage=changed(DIGEST["coverage"], pairs_tried=0, pairs_seen=0, draws_per_pair=()),
        states={},
        map=changed(DIGEST["map"], states=(), edges=()),
    )
    assert html.escape(empty["findings_note"]) in report_page(empty)


def test_the_largest_report_stays_far_below_the_limit():
    assert len(report_page(big()).encode()) < 3_000_000


def test_other_pages_share_the_policy_and_the_styles():
    page = render("base.html.j2")
    assert len(policy_of(page)["script-src"]) == 1
    assert "--paper" in page
