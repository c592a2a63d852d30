import re
from dataclasses import replace
from pathlib import Path

import pytest

from capscope.errors import CapscopeError
from capscope_experiments import results
from capscope_experiments.bench import Section
from capscope_experiments.results import (
    SUITES,
    measured_with,
    results_text,
    run_suite,
    write_results,
)
from capscope_experiments.table import write_csv
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
    assert text.startswith(f"## E1: learning efficiency\n\n```\n{COMMAND}\n```\n\n")
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
    "ablation": "## Last\n\n![steps](ablation-steps.png) and [points](ablation.csv)\n",
    "efficiency": "## First\n\n![curve](efficiency.png), [a](https://x.org/a.png), [b](#last)\n",
}


@pytest.fixture
def output(tmp_path):
    """A folder with two sections, written in the other order."""
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    for name, text in SECTIONS.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    (folder / "other.md").write_text("## Not a section\n")
    return folder


def written(path, output):
    write_results(path, output)
    return path.read_text("utf-8")


def test_the_existing_sections_are_combined_in_the_order_of_the_suites(output):
    text = written(output / "RESULTS.md", output)
    assert re.findall("^#.*", text, re.MULTILINE) == [
        "# Results", "## Read this first", "## First", "## Last",
    ]  # fmt: skip
    for section in SECTIONS.values():  # beside the files the links are right as they are
        assert section in text


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
    names = ["efficiency.png", "ablation-steps.png", "ablation.csv"]
    assert links(written(tmp_path / place, output)) == [f"{prefix}{name}" for name in names]


def test_relative_paths_give_the_same_links(output, tmp_path, monkeypatch):
    absolute = written(tmp_path / "RESULTS.md", output)
    monkeypatch.chdir(tmp_path / "docs")
    assert written(Path("../RESULTS.md"), Path("results")) == absolute


def test_a_folder_behind_a_link_is_named_by_where_it_is(output, tmp_path):
    (tmp_path / "shortcut").symlink_to(tmp_path / "docs", target_is_directory=True)
    text = written(tmp_path / "docs" / "RESULTS.md", tmp_path / "shortcut" / "results")
    assert "(results/efficiency.png)" in text


def test_a_folder_with_a_blank_in_its_name_is_quoted_in_links(output, tmp_path):
    moved = output.rename(tmp_path / "my results")
    text = written(tmp_path / "RESULTS.md", moved)
    assert "(my%20results/efficiency.png)" in text


def test_without_a_section_there_are_no_results(tmp_path):
    with pytest.raises(CapscopeError, match="has no results; run `capscope bench` first"):
        write_results(tmp_path / "RESULTS.md", tmp_path)
    assert not (tmp_path / "RESULTS.md").exists()


def test_sections_are_copied_unchanged(bench, tmp_path, monkeypatch):
    def made(bench):
        write_csv(bench.output / "made.csv", ["n"], [[123.456]])
        return Section("Made", "| n |\n|---|\n| 123.456 |", ("made.csv",))

    monkeypatch.setattr(results, "SUITES", {"made": made})
    run_suite("made", bench, "capscope bench made")
    text = written(tmp_path / "RESULTS.md", bench.output)
    section = (bench.output / "made.md").read_text("utf-8")
    assert text == f"{results._HEAD}\n{section}"
    assert "| 123.456 |" in section


def test_the_results_in_the_repository_are_the_sections_put_together():
    # Change a section in docs/results, then run `write_results`; never edit RESULTS.md.
    root = Path(__file__).parents[2]
    text = (root / "RESULTS.md").read_text("utf-8")
    assert results_text(root / "RESULTS.md", root / "docs" / "results") == text


def test_every_suite_has_a_docstring():
    assert {"efficiency", "reachability", "ablation", "speed"} <= SUITES.keys()
    for suite in SUITES.values():
        assert suite.__doc__
