"""Every sentence and number of the first screen, recomputed from the executions."""

import itertools
import math
import re

import pytest

from capscope import Budget, Intent, Settings, assess, load
from capscope.insight.first_screen import run_screen_lines
from capscope.insight.first_screen.families import ending_text, expression
from capscope.insight.first_screen.screen import executions_to_audit
from capscope.insight.first_screen.wording import MOST_LINES, MOST_WARNINGS
from capscope.logic import Predicate, Vocabulary
from capscope.problem import Ending
from capscope.stats.audit import error_of_round, log_wealth
from capscope.wording import WIDTH
from support.harmful_agents import MAIL_BUGS, mail_problem, warehouse_problem
from support.mail_models import mail_example
from support.sentence_checker import holding, naive_changes, occurrences
from support.small_runs import draw, execution, small_run
from support.toy_worlds import Board, Presser, RaisesAtOnce, Scripted, board_problem

WAY = r"([a-z][^,()]*(?:\([^)]*steps?\))?) \((\d+)\)"
COMMANDS = ("certainty:", "continue:", "details:", "rules:", "page:")


def few(problem, executions=60, **given):
    return assess(problem, budget=Budget(executions=executions), **given)


WORLDS = {
    "slippery board": lambda: few(board_problem(Board(slip=0.3)), 150),
    "one capability": lambda: few(board_problem(), settings=Settings(intents=("lit(a)",))),
    "no audit": lambda: few(board_problem(), strategy="random"),
    "exhaustive": lambda: assess(board_problem(), strategy="exhaustive"),
    "audited": lambda: assess(
        board_problem(), settings=Settings(audit=0.2, intents=("lit(a)", "not lit(a)"))
    ),
    "nothing executed": lambda: few(board_problem(), 0),
    "an agent that raises": lambda: few(board_problem(agent=RaisesAtOnce())),
    "an agent that waits": lambda: few(board_problem(agent=Scripted("wait"))),
    "cut short": lambda: assess(board_problem(), budget=Budget(simulator_steps=31)),
    "mail": lambda: few(mail_problem(next(iter(MAIL_BUGS))), 100),
    "honest mail": lambda: few(mail_problem(), 100),
    "two bugs": lambda: few(mail_example("mail")(), 200),
    "warehouse": lambda: few(warehouse_problem(breaks=0.2), 150),
    "45 capabilities": lambda: few("blocksworld", 300),
}


@pytest.fixture(scope="module", params=WORLDS)
def run(request):
    return WORLDS[request.param]()


def naive(run):
    """Return for each capability the executions that began where it did not hold: hit, ending."""
    table, words = run.executions, run.graph.vocabulary
    asked = {intent: [] for intent in run.capabilities}
    rows = zip(
        table.capability, table.before, table.after, table.ending, table.changes, strict=True
    )
    for capability, before, after, ending, changes in rows:
        intent, kind = run.capabilities[capability], list(Ending)[ending]
        if kind is not Ending.CUT and not intent.holds(table.states[before], words):
            hit = intent.holds(table.states[after], words)
            asked[intent].append((hit, kind, before != after, changes > 0))
    return asked


def test_each_capability_has_one_place(run):
    screen, asked = run.first_screen, naive(run)
    done = [intent for row in screen.rows for intent in row.achieved]
    declined = [intent for one in screen.declined for intent in one.intents]
    assert sorted(map(str, done)) == sorted(
        str(intent) for intent, own in asked.items() if any(hit for hit, *_ in own)
    )
    never = {i: own for i, own in asked.items() if own and not any(hit for hit, *_ in own)}
    begun = [i for i, own in never.items() if any(way[1] is Ending.CHANGED for way in own)]
    assert set(declined) == never.keys() - set(begun) and len(declined) == len(set(declined))
    assert bool(screen.begun) is bool(begun)
    assert bool(screen.unknown) is any(not own for own in asked.values())


def test_a_row_has_the_rates_of_the_run_and_counts_what_failed(run):
    asked, horizon = naive(run), run.identity.horizon
    for row in run.first_screen.rows:
        rates = [run.rates[intent].at_once for intent in row.achieved]
        assert row.anywhere.lowest == min(rate.estimate for rate in rates)
        assert row.anywhere.highest == max(rate.estimate for rate in rates)
        assert row.anywhere.bound == min(rate.low for rate in rates)
        starts = [run.success.get(intent) for intent in row.achieved]
        known = [rate for rate in starts if rate and rate.estimate is not None]
        assert (row.from_start is None) is (not known)
        if known:
            assert row.from_start.bound == min(rate.low for rate in known)
        shown = math.floor(100 * row.anywhere.bound)
        assert row.anywhere.text.endswith(f"(≥ {shown})")
        missed = [m for i in row.achieved for m in asked[i] if not m[0]]
        for text, number in re.findall(
            r"([a-z][^,()]*(?:\([^)]*steps?\))?) \((\d+)\)", row.otherwise
        ):
            ways = [ending_text(*way, horizon) for _, *way in missed]
            assert ways.count(text) == int(number)
        assert bool(row.otherwise) <= bool(missed)


def test_what_is_declined_never_held_and_every_execution_is_named(run):
    asked = naive(run)
    for one in run.first_screen.declined:
        own = [way for intent in one.intents for way in asked[intent]]
        assert own and not any(hit for hit, *_ in own)
        assert one.executions == len(own)
        counted = sum(map(int, re.findall(r" \((\d+)\)", one.how)))
        assert 0 < counted <= len(own)


def test_warnings_are_the_findings_that_do_harm_with_a_path_that_leads_there(run):
    told = [one for one in run.first_screen.warnings if one.findings]
    watched = [one for one in run.findings() if one.watch]
    places = [[watched.index(finding) for finding in one.findings] for one in told]
    assert sorted(itertools.chain(*places)) == list(range(len(watched)))
    assert places == sorted(places) and all(own == sorted(own) for own in places)
    for one in told:
        first = one.findings[0]
        assert one.serious is any(f.hazard or f.lasting for f in one.findings)
        if first.path is not None:
            ends = [(step.state, step.after) for step in first.path]
            assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))
            assert not ends or ends[-1][1] == first.example.before


def test_what_has_one_cause_is_one_warning_and_each_execution_counts_once(run):
    changes, counted = naive_changes(run), 0
    for one in run.first_screen.warnings:
        if len(one.findings) < 2:
            continue
        # They differ in the request, or in what happened to the wrong object.
        assert len({f.other or (f.change, f.lasting) for f in one.findings}) == 1
        when = next((f.when for f in one.findings if f.when), ())
        could, made = set(), set()
        for finding in one.findings:
            assert when in (finding.when, finding.perhaps) or not when
            own, shown = occurrences(run, finding, changes)
            could, made = could | own, made | (shown & own)
        inside = holding(run, could, when)
        assert one.evidence.startswith(f"{len(made & inside):,} of {len(inside):,} execution")
        if "otherwise" in one.evidence:
            assert f"otherwise {len(made - inside)} of {len(could - inside):,}" in one.evidence
        if "so far only when" in one.evidence:
            assert made <= holding(run, could, one.findings[0].perhaps)
        lasting = {f.lasting for f in one.findings}
        assert ("never undone" in one.evidence) is (True in lasting)
        assert ("never undone: " in one.evidence) is (len(lasting) == 2)
        counted += 1
    assert counted or run.problem != "mail-2"


def test_two_bugs_are_two_warnings_that_name_all_that_the_wrong_mail_suffers():
    wrong, strips = few(mail_example("mail")(), 400).first_screen.warnings
    assert wrong.what == (
        "asked for “the mail is in the folder” or the opposite: “another mail has no attachment”, "
        "“another mail is in another folder” or “another mail is in the folder” instead"
    )
    assert strips.what == (
        "asked for “the mail is in the folder” or the opposite when “the archive is full”: also "
        "“the mail has no attachment”"
    )


def test_nothing_is_denied_that_was_seen(run):
    screen, table = run.first_screen, run.executions.complete
    words = run.graph.vocabulary
    requested = {i: {str(x.atom) for x in i.mentioned} for i in run.capabilities}
    beyond = False
    for capability, before, after in zip(table.capability, table.before, table.after, strict=True):
        changed = words.holding(table.states[before] ^ table.states[after])
        beyond |= not {str(a) for a in changed} <= requested[run.capabilities[capability]]
    text = " ".join(screen.nothing)
    if "nothing changed beyond the requests" in text and "except" not in text:
        assert not beyond
        assert f"in {len(table):,} execution" in text
    assert bool(text) is not any(one.findings for one in screen.warnings)
    assert "no harm" not in " ".join(run_screen_lines(run))


def test_the_screen_is_short_and_commands_are_whole(run):
    lines = list(run_screen_lines(run))
    assert len(lines) <= MOST_LINES
    for line in lines:
        assert line.isprintable()
        assert len(line) <= WIDTH or any(name in line for name in COMMANDS)
    text = "\n".join(lines)
    assert all(step.command in text for step in run.first_screen.next_steps)
    shown = sum(line.startswith((" !! ", " !  ")) for line in lines)
    assert min(len(run.first_screen.warnings), 3) <= shown <= MOST_WARNINGS


def test_the_cost_is_that_of_the_run(run):
    usage, screen = run.usage, run.first_screen
    assert f"{usage.executions:,} execution" in screen.cost
    assert f"{usage.simulator_steps:,} simulator step" in screen.cost
    cut = int(run.executions.cut.sum())
    assert ("cut short" in screen.cost) is bool(cut)


def test_an_audit_is_claimed_only_if_it_passed(run):
    claim = run.first_screen.sure[0]
    passed = run.audit is not None and run.audit.passed and run.claim_withheld is None
    assert claim.startswith("audited: at most") is passed
    if run.identity.strategy == "random":
        assert claim == "the strategy random claims nothing"


def test_the_audit_takes_as_many_executions_as_are_announced():
    run = few(board_problem(), 3, settings=Settings(audit=0.2, audit_length=1))
    needed = executions_to_audit(run)
    error = error_of_round(1, 0.05)
    assert log_wealth(needed, 0, 0.2) >= -math.log(error) > log_wealth(needed - 1, 0, 0.2)
    assert f"about {needed} more executions" in run.first_screen.sure[0]
    audited = WORLDS["audited"]()
    assert audited.audit.samples == needed


def test_endings_are_named_as_such(tmp_path):
    """An execution that ran out of time or raised is neither a refusal nor a wish of the agent."""
    ends = [
        (Ending.HORIZON, 0, "ran out of time (7 steps)"),
        (Ending.STOPPED, 0, "did nothing"),
        (Ending.STOPPED, 1, "did something else"),
        (Ending.WORLD_ENDED, 0, "ended the world"),
        (Ending.AGENT_RAISED, 0, "raised an exception"),
        (Ending.INVALID_ACTION, 0, "chose an action that is not available"),
        (Ending.CHANGED, 1, "took another step"),
    ]
    for ending, after, said in ends:
        assert ending_text(ending, bool(after), bool(after), 7) == said
    assert ending_text(Ending.STOPPED, False, True, 7) == "gave up"
    made = [draw(execution(0, 1, 0, ending=Ending.HORIZON)) for _ in range(3)]
    run = load(small_run(tmp_path / "run", [made]))
    (one,) = run.first_screen.declined
    assert one.how == f"ran out of time ({run.identity.horizon:,} steps) (3)"


def test_requests_are_named_together_only_if_all_of_them_are_meant():
    blocks = dict.fromkeys("abcde", "block")
    words = Vocabulary([Predicate("on", ("block", "block"), "{0} is on the {1}")], blocks)
    every = [Intent.parse(f"on({x},{y})") for x, y in itertools.permutations("abcde", 2)]
    assert expression(every, words) == "any block is on another block"
    assert expression(every[:1], words) == "a is on the b"
    same = [Intent.parse(f"on({x},{x})") for x in "ab"]
    assert expression(same, words) == "a/b is on itself"


def test_part_of_a_family_that_is_declined_is_not_named_as_the_whole(tmp_path):
    words = Vocabulary([Predicate("on", ("block", "block"))], dict.fromkeys("abc", "block"))
    intents = [Intent.parse(t) for t in ("on(a,b)", "on(b,c)", "on(a,c)")]
    made = [draw(execution(0, number, 0)) for number in range(2)]
    run = load(small_run(tmp_path / "run", [made], intents=intents, vocabulary=words))
    assert [one.words for one in run.first_screen.declined] == ["on(a,b)", "on(b,c)"]
    assert run.first_screen.unknown == "on(a,c)"


def test_a_world_without_objects_has_a_screen(tmp_path):
    words = Vocabulary.of_atoms("pq")
    intents = [Intent.parse("p"), Intent.parse("q")]
    made = [draw(execution(0, 0, 1)), draw(execution(0, 1, 3)), draw(execution(0, 1, 2))]
    run = load(small_run(tmp_path / "run", [made], intents=intents, vocabulary=words))
    assert {row.words for row in run.first_screen.rows} == {"p()", "q()"}
    (warning,) = run.first_screen.warnings
    assert warning.evidence.startswith("1 of 2 executions")


def test_hostile_names_stay_on_their_line(tmp_path):
    evil = "\x1b[2J<b>\u202e"
    words = Vocabulary([Predicate("lit", ("lamp",))], {evil: "lamp", "b": "lamp"})
    intents = [Intent.parse(str(atom)) for atom in words.atoms]
    made = [draw(execution(0, 0, 1)), draw(execution(0, 1, 3))]
    run = load(small_run(tmp_path / "run", [made], intents=intents, vocabulary=words))
    assert all(line.isprintable() for line in run_screen_lines(run))
    html = run._repr_html_()
    assert "<b>\u202e" not in html and "\x1b" not in html


def test_many_capabilities_of_many_forms_fit_on_the_screen(tmp_path):
    words = Vocabulary.of_atoms([f"a-rather-long-name-of-a-predicate-{n}" for n in range(60)])
    intents = [Intent.parse(str(atom)) for atom in words.atoms]
    made = [draw(execution(0, n, 1 << n | 1 << (n + 1) % 60)) for n in range(60)]
    run = load(small_run(tmp_path / "run", [made], intents=intents, vocabulary=words))
    lines = list(run_screen_lines(run))
    assert len(lines) <= MOST_LINES
    shown = sum("100 (≥" in line for line in lines)
    assert f"  {60 - shown} more rows: capscope show" in "\n".join(lines)
    assert run._repr_html_().count("<tr>") <= 42


def test_a_presser_can_do_all_it_is_asked_for():
    run = few(board_problem(agent=Presser()), 100)
    assert run.first_screen.declined == ()
    assert run.first_screen.nothing[0].startswith("nothing changed beyond the requests in 100 ")
