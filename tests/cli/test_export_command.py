"""`capscope export`: what is written where, in which format."""

import csv
import json
import shutil
import sys
from pathlib import Path

import pytest

from capscope import Budget, Settings, assess, load
from capscope.errors import install_hint
from capscope.export import FORMATS
from capscope.export.dot import dot_graph
from capscope.export.lifted_ppddl import lifted_files
from capscope.export.model_json import model_of_run
from capscope.export.ppddl import ppddl_files
from capscope.export.prism import prism_program
from capscope.export.tables import csv_text, run_tables
from capscope.logic import Intent
from support.toy_worlds import Board, board_problem

SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)
FILES = {
    "ppddl": ["domain.pddl", "problem.pddl"],
    "pddl": ["domain.pddl", "problem.pddl"],
    "csv": ["transitions.csv", "rules.csv", "queries.csv", "success.csv"],
    "parquet": ["transitions.parquet", "rules.parquet", "queries.parquet", "success.parquet"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "run"
    problem = board_problem(Board(slip=0.3))
    assess(problem, strategy="random", settings=SMALL, budget=Budget(executions=100), run=path)
    return path


@pytest.fixture
def run(made, tmp_path):
    shutil.copytree(made, tmp_path / "run")
    return Path("run")


@pytest.mark.parametrize("to", ["json", "prism", "dot"])
def test_one_text_goes_to_standard_output_or_into_a_file(to, run, capscope):
    model = load(run).model
    printed = capscope("export", run, "--to", to)
    assert printed.err == ""
    told = capscope("export", run, "--to", to, "--output", "made.txt")
    assert told.out == "written: made.txt\n"
    text = Path("made.txt").read_text()
    assert text == printed.out
    expected = {
        "json": json.dumps(model_of_run(load(run)), indent=1) + "\n",
        "prism": prism_program(model, "board"),
        "dot": dot_graph(model, "board"),
    }
    assert text == expected[to]
    one = json.loads(capscope("export", run, "--to", to, "--json").out)
    assert one == (json.loads(text) if to == "json" else {"format": to, "text": text})


@pytest.mark.parametrize("to", FILES)
@pytest.mark.parametrize("output", [None, "elsewhere/deep"])
def test_several_files_go_into_a_directory(to, output, run, capscope):
    if to == "parquet":
        pytest.importorskip("pyarrow")
    where = run / "export" if output is None else Path(output)
    arguments = ["export", run, "--to", to, *([] if output is None else ["--output", output])]
    files = [str(where / name) for name in FILES[to]]
    told = capscope(*arguments)
    assert told.out.splitlines() == [f"written: {file}" for file in files]
    assert sorted(str(path) for path in where.iterdir()) == sorted(files)
    first = [Path(file).read_bytes() for file in files]
    answer = json.loads(capscope(*arguments, "--json").out)
    assert answer == {"written": str(where), "format": to, "files": files}
    assert [Path(file).read_bytes() for file in files] == first


def test_the_files_hold_what_the_exports_give(run, capscope):
    for to in ("csv", "ppddl"):
        assert capscope("export", run, "--to", to).code == 0
    for table in run_tables(load(run)):
        written = (run / "export" / f"{table.name}.csv").read_bytes().decode()
        assert written == csv_text(table)
    with (run / "export" / "queries.csv").open(newline="") as rows:
        assert sum(int(row["executions"]) for row in csv.DictReader(rows)) == 100
    files = lifted_files(load(run).model, "board")
    assert (run / "export" / "domain.pddl").read_text() == files["domain.pddl"]
    assert (run / "export" / "problem.pddl").read_text() == files["problem.pddl"]


def test_options_reach_their_format(run, capscope):
    model = load(run).model
    goal = Intent.parse("not lit(a)")
    for options, files in (
        (("ppddl", "--ground"), ppddl_files(model, "board", goal)),
        (("ppddl",), lifted_files(model, "board", goal)),
        (("pddl",), lifted_files(model, "board", goal, determinized=True)),
    ):
        capscope("export", run, "--to", *options, "--goal", "not lit(a)")
        assert (run / "export" / "domain.pddl").read_text() == files["domain.pddl"]
        assert (run / "export" / "problem.pddl").read_text() == files["problem.pddl"]
    drawn = capscope("export", run, "--to", "dot", "--limit", 2, "--loops").out
    assert drawn == dot_graph(model, "board", 2, loops=True)


@pytest.mark.parametrize("to", FORMATS.built_in)
def test_a_run_without_executions_is_exported_too(to, tmp_path, capscope):
    if to == "parquet":
        pytest.importorskip("pyarrow")
    assess(board_problem(), settings=SMALL, budget=Budget(executions=0), run=tmp_path / "run")
    assert capscope("export", "run", "--to", to, "--json").code == 0


def test_wrong_input_is_one_line_that_says_what_to_do(run, refusal):
    line = refusal("export", run, "--to", "PPDDL")
    assert line == f"capscope: no format 'PPDDL'; choose one of {', '.join(FORMATS.built_in)}"
    line = refusal("export", run, "--to", "csv", "--limit", 3)
    assert line == "capscope: --limit is for --to dot, not for --to csv"
    line = refusal("export", run, "--to", "pddl", "--ground")
    assert line == "capscope: --ground is for --to ppddl, not for --to pddl"
    assert "atom z() is not in the vocabulary" in refusal(
        "export", run, "--to", "ppddl", "--goal", "z"
    )
    Path("taken").touch()
    line = refusal("export", run, "--to", "csv", "--output", "taken")
    assert "cannot make the directory taken: File exists" in line


def test_parquet_without_its_packages_names_the_extra(run, refusal, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    line = refusal("export", run, "--to", "parquet")
    assert install_hint("frames") in line
    assert not (run / "export").exists()


def test_the_help_names_every_format_and_option(capscope):
    text = " ".join(capscope("export", "--help").out.split())
    for known in FORMATS.built_in.values():
        assert f"{known.name}: {known.description}" in text
        for option in known.options:
            assert f"--{option.name}" in text
            takers = (other.name for other in FORMATS.built_in.values() if other.takes(option.name))
            assert f"{', '.join(takers)}: {option.help.split()[0]}" in text


@pytest.mark.parametrize("linked", ["export", "export/rules.csv"])
def test_nothing_is_written_through_a_link_in_a_run_directory(refusal, run, tmp_path, linked):
    (tmp_path / "elsewhere").mkdir()
    (run / linked).parent.mkdir(exist_ok=True)
    (run / linked).symlink_to(tmp_path / "elsewhere" / linked.partition("/")[2])
    assert f"{linked} is a symbolic link" in refusal("export", run, "--to", "csv")
    assert not list((tmp_path / "elsewhere").iterdir())
    named = run / linked / "new" if linked == "export" else run / linked
    assert "is a symbolic link" in refusal("export", run, "--to", "dot", "--output", named)
    assert not list((tmp_path / "elsewhere").iterdir())
