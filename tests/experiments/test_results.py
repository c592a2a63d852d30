import re
from dataclasses import replace
from pathlib import Path

import pytest

from capscope.errors import CapscopeError
from capscope_experiments import results
from capscope_experiments.results import (
    SUITES,
    measured_with,
    results_text,
    run_suite,
    write_results,
)
from support.markdown_rows import links
from support.tiny_bench import tiny_bench

COMMAND = "capscope bench efficiency --draws 2"


@pytest.fixture
def bench(tmp_path):
    """A bench of one case that writes to a folder that does not exist yet."""
    bench = tiny_bench(tmp_path, output=tmp_path / "new" / "results", seeds=(0,))
    return replace(bench, cases=bench.cases[:1])


def test_a_section_shows_the_command_the_machine_the_seeds_and_the_settings(bench):
    section = run_suite("efficiency", bench, COMMAND)
    text = (bench.output / "efficiency.md").read_text("utf-8")
    assert text == section.text()
    assert text.startswith(f"# E1: learning efficiency\n\n```\n{COMMAND}\n```\n\n")
    last = text.strip().splitlines()[-1]
    assert last == f"*{measured_with(bench)}*"
    assert last.endswith(
        "Seeds 0. Settings: draws 2, depth 5, iterations 10, walks 1, walk_steps 40.*"
    )
    assert "1 at a time; python 3." in last
    assert section.files[-1] == "efficiency.md"
    assert {path.name for path in bench.output.iterdir()} == set(section.files)
    assert set(links(text)) <= set(section.files)


def test_default_settings_are_called_that(bench):
    settings = type(bench.settings)()
    assert "Settings: the defaults." in measured_with(replace(bench, settings=settings))
    assert "Seeds 0, 1. " in measured_with(replace(bench, seeds=(0, 1)))


def test_a_folder_that_cannot_be_created_is_reported(bench, tmp_path):
    (tmp_path / "new").write_text("a file")
    with pytest.raises(CapscopeError, match=r"cannot create the folder .*results: Not a directory"):
        run_suite("efficiency", bench, COMMAND)


SECTIONS = {
    "ablation": "# Last\n\n![steps](ablation-steps.png) and [points](ablation.csv)\n",
    "efficiency": "# First\n\n![curve](efficiency.png), [a](https://x.org/a.png), [b](#last)\n",
}


@pytest.fixture
def output(tmp_path):
    """A folder with two pages, written in the other order, and one figure of the paper."""
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    for name, text in SECTIONS.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    (folder / "other.md").write_text("# Not a section\n")
    (folder / "ablation.png").write_bytes(b"")
    return folder


def written(path, output):
    write_results(path, output)
    return path.read_text("utf-8")


def test_the_page_links_to_the_pages_that_exist_in_the_order_of_the_suites(output):
    text = written(output / "RESULTS.md", output)
    assert "- [First](efficiency.md)\n- [Last](ablation.md)\n" in text
    assert "other.md" not in text
    assert "(ablation.png)" in text
    assert "ablation-steps.png" not in text  # a figure that was not drawn
    assert "](ablation.csv)" not in text  # nothing is there twice


def test_claims_come_first_then_results_in_words_figures_and_links(output, monkeypatch):
    monkeypatch.setattr(results, "claims_table", lambda folder: f"claims of {folder.name}")
    monkeypatch.setattr(results, "results_in_words", lambda folder: "ten sentences")
    text = written(output / "RESULTS.md", output)
    assert re.findall("^#.*", text, re.MULTILINE) == [
        "# Results", "## The paper's claims", "## Results in words", "## The paper's figures",
        "## Everything else", "## How to read the numbers",
    ]  # fmt: skip
    assert "claims of results" in text and "ten sentences" in text


@pytest.mark.parametrize(
    ("place", "prefix"),
    [
        ("RESULTS.md", "docs/results/"),
        ("docs/all.md", "results/"),
        ("a/b/c.md", "../../docs/results/"),
    ],
)
def test_links_lead_from_the_results_to_the_files(output, tmp_path, place, prefix):
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    text = written(tmp_path / place, output)
    for name in ("ablation.png", "efficiency.md", "ablation.md"):
        assert f"]({prefix}{name})" in text


def test_relative_paths_give_the_same_links(output, tmp_path, monkeypatch):
    absolute = written(tmp_path / "RESULTS.md", output)
    monkeypatch.chdir(tmp_path / "docs")
    assert written(Path("../RESULTS.md"), Path("results")) == absolute


def test_a_folder_behind_a_link_is_named_by_where_it_is(output, tmp_path):
    (tmp_path / "shortcut").symlink_to(tmp_path / "docs", target_is_directory=True)
    text = written(tmp_path / "docs" / "RESULTS.md", tmp_path / "shortcut" / "results")
    assert "(results/efficiency.md)" in text


def test_a_folder_with_a_blank_in_its_name_is_quoted_in_links(output, tmp_path):
    moved = output.rename(tmp_path / "my results")
    text = written(tmp_path / "RESULTS.md", moved)
    assert "(my%20results/efficiency.md)" in text


def test_without_a_section_there_are_no_results(tmp_path):
    with pytest.raises(CapscopeError, match="has no results; run `capscope bench` first"):
        write_results(tmp_path / "RESULTS.md", tmp_path)
    assert not (tmp_path / "RESULTS.md").exists()


def test_the_results_in_the_repository_are_made_from_its_pages():
    # Never edit RESULTS.md: `capscope bench --render --output docs/results --write RESULTS.md`.
    root = Path(__file__).parents[2]
    text = (root / "RESULTS.md").read_text("utf-8")
    assert results_text(root / "RESULTS.md", root / "docs" / "results") == text
    assert len(text.split()) <= 2500
    pages = (page.read_text("utf-8") for page in (root / "docs" / "results").glob("*.md"))
    assert sum(len(page.split()) for page in pages) <= 6500


def test_every_suite_has_a_docstring():
    assert {"efficiency", "reachability", "ablation", "speed"} <= SUITES.keys()
    for suite in SUITES.values():
        assert suite.__doc__
