"""One seed, one journal: whatever process, whatever hash seed, however often it is killed.

The faults are not timed. A world, or a wrapper of SQLite or of the file system, counts what passes
by and sends its own process a signal at the k-th.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from capscope import resume
from capscope.cli import main
from capscope.journal.journal import Journal
from capscope.strategy.registry import STRATEGIES
from support.journal_rows import dump
from support.processes import SECONDS

# A board whose switches wear out (unseen, but part of the position), and an agent that fumbles, so
# that what can be switched off is discovered long after what can be switched on.
WORLD = """
import random
from support.toy_worlds import SWITCHES, Board, Pressing, Presser, board_problem

class WornBoard(Board):
    worn = 0
    def step(self, action):
        self.worn = (self.worn + 1) % 5
        self.slip = self.worn / 10
        return super().step(action)
    def snapshot(self):
        return bytes([self.lit, self.worn])
    def restore(self, snapshot, seed):
        self.worn = snapshot[1]
        return super().restore(snapshot, seed)
    def reset(self, seed):
        self.worn = 0
        return super().reset(seed)

class Fumbling(Pressing):
    def __init__(self, intent, seed):
        super().__init__(intent)
        self.rng = random.Random(seed)
    def act(self, observation):
        wanted = super().act(observation)
        return self.rng.choice(SWITCHES) if wanted and self.rng.random() < 0.2 else wanted

class Fumbler(Presser):
    def begin(self, intent, seed):
        return Fumbling(intent, seed)

def worn_board():
    return board_problem(WornBoard(), Fumbler(), temporal_length=2, horizon=6)
"""

# Runs command lines, each in a fork of its own, with a signal at the k-th event of a kind. Prints
# a list of [exit code, events counted]; the count is lost where the process was killed.
DRIVER = """
import json, os, signal, sqlite3, sys
from pathlib import Path
from capscope.cli import main
from capscope.problem import attempt

kind, moment, number, counted, behind = None, 0, 0, 0, 0

def tick(what):
    global counted
    if what == kind:
        counted += 1
        if counted == moment:
            os.kill(os.getpid(), number)

class Mortal(sqlite3.Connection):
    def execute(self, statement, *given):
        global behind
        tick("statement")
        if behind:
            behind -= 1
            tick("statement behind a finished query")
        if statement.startswith("DELETE FROM queries"):  # replaced by its finished form
            behind = 6
        return super().execute(statement, *given)
    def executemany(self, *given):
        tick("statement")
        return super().executemany(*given)
    def executescript(self, *given):
        tick("statement")
        return super().executescript(*given)

connect, step = sqlite3.connect, attempt._step
sqlite3.connect = lambda *given, **named: connect(*given, **named, factory=Mortal)

def mortal_step(*given):
    tick("step")
    return step(*given)

attempt._step = mortal_step
FILE_EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "sqlite3.connect"}
sys.addaudithook(lambda event, _: tick("file") if event in FILE_EVENTS else None)

def child(job, pipe):
    global kind, moment, number
    signal.alarm(200)  # ends a child that hangs, also if nobody waits for it anymore
    kind, moment, number = job["kind"], job["moment"], signal.Signals[job["signal"]]
    begun = (Path(job["run"]) / "journal.sqlite").exists()
    again = ["resume", job["run"], "--trust"]
    sys.argv = ["capscope", *(again if begun else job["start"])]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    kind = None
    sys.stdout.flush()
    os.write(pipe, b"%d" % counted)
    os._exit(code)

def begin(job):
    end, pipe = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child(job, pipe)
        finally:
            os._exit(99)
    os.close(pipe)
    return pid, end

def result(pid, end):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code, int(os.read(end, 99) or 0)

# What each child would import for itself.
import rich.live
from support import toy_worlds
sys.argv, answer = ["capscope", "list"], sys.argv[1]
try:
    main()
except SystemExit:
    pass
jobs = json.load(sys.stdin)
if len({job["run"] for job in jobs}) == len(jobs):
    results = [result(*begun) for begun in list(map(begin, jobs))]  # side by side
else:
    results = [result(*begin(job)) for job in jobs]
Path(answer).write_text(json.dumps(results))
"""

SMALL = {
    "random": ["--set", "random-length=5"],
    "mcqs-s": ["--set", "iterations=30", "--set", "depth=5", "--set", "random-length=5"],
    "mcqs-e": ["--set", "iterations=30", "--set", "depth=3", "--set", "random-length=5"],
}
COMMON = ["--set", "draws=3", "--set", "walks=1", "--set", "walk-steps=2", "--max-queries", "12"]


def arguments(world, run, strategy="random", seed=0):
    chosen = ["--strategy", strategy, "--seed", str(seed), "--run", str(run)]
    return ["assess", f"{world}:worn_board", *chosen, *SMALL.get(strategy, []), *COMMON]


def job(world, run, kind=None, moment=0, signal="SIGKILL", **chosen):
    start = arguments(world, run, **chosen)
    return {"run": str(run), "start": start, "kind": kind, "moment": moment, "signal": signal}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    path = tmp_path_factory.mktemp("world") / "world.py"
    path.write_text(WORLD)
    return path


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """Run jobs in a process of their own; return the exit codes, counts and standard error."""
    answer = tmp_path_factory.mktemp("driver") / "answer.json"

    def run(jobs, hash_seed=0):
        folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, folders)),
            "PYTHONHASHSEED": str(hash_seed),
        }
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, str(answer)],
            input=json.dumps(jobs),
            capture_output=True,
            text=True,
            env=environment,
            timeout=2 * SECONDS,
        )
        assert done.returncode == 0, done.stderr
        codes, counts = zip(*json.loads(answer.read_text()), strict=True)
        # On a busy machine a command also says how far it is.
        lines = done.stderr.splitlines(keepends=True)
        errors = [line for line in lines if not line.startswith("world-worn_board: ")]
        return list(codes), list(counts), "".join(errors)

    return run


@pytest.fixture(scope="module")
def undisturbed(world, drive, tmp_path_factory):
    """Make a run that nothing disturbs; return it and how many events of each kind it had."""
    folder = tmp_path_factory.mktemp("undisturbed")
    kinds = ("statement", "step", "file")
    codes, counts, _ = drive([job(world, folder / kind, kind) for kind in kinds])
    assert codes == [0, 0, 0]
    return folder / "step", dict(zip(kinds, counts, strict=True))


def assert_same_end(run, other):
    left, right = dump(run), dump(other)
    assert left.keys() == right.keys()
    for table, rows in left.items():
        assert rows == right[table], table
    for name in ("model.json", "run.json"):
        assert (run / name).read_bytes() == (other / name).read_bytes()


def names_in(run):
    return sorted(path.name for path in run.iterdir())


def test_the_run_that_is_disturbed_here_discovers_and_keeps_something(undisturbed):
    content = dump(undisturbed[0])
    assert len(content["queries"]) == 12
    found = json.loads(dict(content["meta"])["discovery"])["intents"]
    assert found < len(content["intents"])
    # Positions that look alike are kept apart.
    assert len(content["snapshots"]) > len(content["states"])


@pytest.fixture(scope="module")
def seeded(world, drive, tmp_path_factory):
    """Make a run for each strategy and seed, in two processes that hash differently."""
    folder = tmp_path_factory.mktemp("seeded")
    for process in ("one", "other"):
        jobs = [
            job(world, folder / process / f"{strategy}-{seed}", strategy=strategy, seed=seed)
            for strategy in STRATEGIES.all
            for seed in (0, 1)
        ]
        codes, _, errors = drive(jobs, hash_seed=len(process))
        assert set(codes) == {0}, errors
    return folder


@pytest.mark.parametrize("strategy", STRATEGIES.all)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_journal_in_another_process(strategy, seed, seeded):
    name = f"{strategy}-{seed}"
    assert_same_end(seeded / "one" / name, seeded / "other" / name)


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_another_seed_gives_another_journal(strategy, seeded):
    one, other = (dump(seeded / "one" / f"{strategy}-{seed}") for seed in (0, 1))
    assert one["draws"] != other["draws"]
    assert one["queries"] != other["queries"]


@pytest.mark.parametrize("kind", ["step", "statement", "file"])
def test_a_run_killed_at_any_of_twenty_moments_ends_like_one_never_killed(
    kind, world, drive, undisturbed, tmp_path
):
    whole, counts = undisturbed
    most = min(20, counts[kind])
    assert most >= 10
    moments = sorted(random.Random(kind).sample(range(1, counts[kind] + 1), most))
    jobs = [job(world, tmp_path / f"{moment}", kind, moment) for moment in moments]
    codes, _, _ = drive(jobs)
    assert codes == [-9] * most
    codes, _, errors = drive([one | {"kind": None} for one in jobs])
    assert codes == [0] * most, errors
    for moment in moments:
        assert_same_end(tmp_path / f"{moment}", whole)


@pytest.mark.parametrize("strategy", ["random", "mcqs-s", "mcqs-e"])
def test_a_run_killed_again_and_again_ends_like_one_never_killed(strategy, world, drive, tmp_path):
    rng = random.Random(strategy)
    whole, patched = tmp_path / "whole", tmp_path / "patched"
    moments = [rng.randint(40, 120) for _ in range(10)]
    jobs = [job(world, patched, "statement", moment, strategy=strategy) for moment in moments]
    codes, _, errors = drive(
        [job(world, whole, strategy=strategy), *jobs, job(world, patched, strategy=strategy)]
    )
    assert codes[0] == codes[-1] == 0, errors
    assert codes.count(-9) >= 4
    assert_same_end(patched, whole)


def test_a_kill_right_behind_a_finished_query_loses_no_intent_that_it_discovered(
    world, drive, undisturbed, tmp_path
):
    kind = "statement behind a finished query"
    jobs = [job(world, tmp_path / f"{moment}", kind, moment) for moment in range(1, 13)]
    assert set(drive(jobs)[0]) == {-9}
    assert set(drive([one | {"kind": None} for one in jobs])[0]) == {0}
    for one in jobs:
        assert_same_end(Path(one["run"]), undisturbed[0])


def test_ctrl_c_keeps_everything_and_names_the_command_that_continues(
    world, drive, undisturbed, tmp_path
):
    whole, counts = undisturbed
    jobs = [
        job(world, tmp_path / f"{kind}-{share}", kind, int(counts[kind] * share), "SIGINT")
        for kind in ("step", "statement")
        for share in (0.2, 0.5, 0.9)
    ]
    codes, _, errors = drive(jobs)
    assert set(codes) == {130}
    line = "interrupted; everything observed is kept. Continue with: capscope resume {} --trust"
    assert sorted(errors.splitlines()) == sorted(line.format(one["run"]) for one in jobs)
    assert set(drive([one | {"kind": None} for one in jobs])[0]) == {0}
    for one in jobs:
        assert_same_end(Path(one["run"]), whole)


def test_ctrl_c_before_there_is_a_run_does_not_offer_to_resume_it(world, drive, tmp_path):
    codes, _, errors = drive([job(world, tmp_path / "run", "statement", 3, "SIGINT")])
    assert codes == [130]
    assert len(errors.splitlines()) == 1
    assert "resume" not in errors


# A full disk.


def assess_here(monkeypatch, *given):
    monkeypatch.setattr(sys, "argv", ["capscope", *map(str, given)])
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0


def test_a_full_disk_stops_a_run_in_one_line_and_it_resumes_to_the_same_end(
    world, tmp_path, monkeypatch, capsys
):
    more = ["--set", "draws=20", "--set", "random-length=30"]
    whole = tmp_path / "whole"
    assert assess_here(monkeypatch, *arguments(world, whole), *more) == 0
    opened = Journal.open

    def open_on_a_small_disk(path, *, read_only=False):
        journal = opened(path, read_only=read_only)
        journal._db.execute(f"PRAGMA max_page_count = {pages}")
        return journal

    for pages in (9, 13, 17):
        capsys.readouterr()
        run = tmp_path / f"{pages}"
        with monkeypatch.context() as small:
            small.setattr(Journal, "open", open_on_a_small_disk)
            assert assess_here(small, *arguments(world, run), *more) == 2
        output = capsys.readouterr()
        assert output.out == ""
        assert len(output.err.splitlines()) == 1
        assert "the disk is full; finished draws, if any, are kept: free some space" in output.err
        resume(run, trust=True)
        assert_same_end(run, whole)


@pytest.mark.parametrize("name", ["run.json", "model.json", "report.html"])
def test_a_disk_full_for_a_copy_stops_a_run_in_one_line_and_leaves_no_half_file(
    name, world, undisturbed, tmp_path, monkeypatch, capsys
):
    whole, _ = undisturbed
    run = tmp_path / "run"
    write = Path.write_bytes

    def write_some(path, data):
        if name in path.name:
            write(path, data[:10])
            raise OSError(28, "No space left on device")
        return write(path, data)

    with monkeypatch.context() as small:
        small.setattr(Path, "write_bytes", write_some)
        assert assess_here(small, *arguments(world, run)) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert f"{run / name}: No space left on device" in error
    if name == "run.json":
        # It is written before the first query: a run that could not begin leaves nothing.
        assert not run.exists()
        assert assess_here(monkeypatch, *arguments(world, run)) == 0
    else:
        assert not [each for each in names_in(run) if name in each]
        resume(run, trust=True)
    assert_same_end(run, whole)
    assert names_in(run) == names_in(whole)
