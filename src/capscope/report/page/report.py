"""The pages of one run: `report.html`, which is a digest as a page, and its hazards.

What can be read without a script is in the HTML: the summary, the findings, every capability with
its rules. Draws, charts and the map of states are embedded as JSON and rendered when needed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capscope.export.model_json import model_of_run
from capscope.insight.hazards import HazardResult
from capscope.insight.hazards.wording import confidence_note
from capscope.journal.run_directory import MODEL, write_atomically
from capscope.logic import Phrasing
from capscope.phases import begin_phase
from capscope.report.digest import Pictures, digest_run
from capscope.report.digest.cards import CardMaker
from capscope.report.digest.size_budget import WHOLE, SizeBudget
from capscope.report.digest.states import Edge, StateListing
from capscope.report.page.rendering import render, term_renderer
from capscope.report.text import success_text
from capscope.wording import as_sentence, counted

if TYPE_CHECKING:
    from capscope.run import Run

_SCRIPTS = (
    *("libraries.js", "dom.js", "table.js", "heat.js", "draws.js", "cards.js"),
    *("charts.js", "map_view.js", "map_list.js", "map.js"),
)


def write_results(run: Run, pictures: Pictures | None) -> None:
    """Write the model and the report of a run, and compute what is printed at its end."""
    # What is printed comes first: if time runs out, it is there.
    begin_phase("summing up")
    run.sum_up()
    begin_phase(f"writing {MODEL}")
    text = json.dumps(model_of_run(run), indent=1) + "\n"
    write_atomically(run.path / MODEL, text)
    begin_phase("writing the report")
    write_report(run, run.report_path, pictures)


def write_report(run: Run, target: Path, pictures: Pictures | None = None) -> Path:
    """Write the report of a run to a file, and return that."""
    digest = digest_run(run, pictures)
    if missing := getattr(pictures, "omitted", 0):
        digest["notes"].append(f"{counted(missing, 'picture')} omitted (time limit).")
    begin_phase("writing the page")
    write_atomically(target, report_page(digest))
    return target


def report_page(digest: Mapping[str, Any]) -> str:
    """Return a digest as one HTML file."""
    capabilities = digest["capabilities"]
    anchors = _anchors(one["intent"] for one in capabilities)
    return render(
        "report.html.j2",
        _SCRIPTS,
        digest=digest,
        term=term_renderer(Phrasing({name: both for name, *both in digest["phrases"]})),
        success_text=success_text,
        state_links=True,
        anchors=anchors,
        anchor_of={
            one["intent"]: anchor for one, anchor in zip(capabilities, anchors, strict=True)
        },
        standings=Counter(one["standing"] for one in capabilities),
        data=_for_scripts(digest, anchors),
    )


def hazards_page(run: Run, results: Sequence[HazardResult]) -> str:
    """Return what a run knows about hazards as one HTML file."""
    listing = StateListing(run.graph.vocabulary, run.executions)
    maker = CardMaker(run, listing)
    cards = maker.taken((maker.hazard_card(run, one) for one in results), SizeBudget(WHOLE))
    return render(
        "hazards.html.j2",
        run=run,
        happened=sum(bool(one.happened or one.cut_short) for one in results),
        cards=cards,
        omitted=len(results) - len(cards),
        states=listing.listed,
        term=term_renderer(Phrasing.of(run.graph.vocabulary)),
        number=counted(len(results), "hazard"),
        executions=counted(run.usage.executions, "execution"),
        note=as_sentence(confidence_note(run, len(results))),
    )


def _anchors(intents: Iterable[str]) -> list[str]:
    """Return a distinct anchor for each capability."""
    anchors: list[str] = []
    taken: set[str] = set()
    for intent in intents:
        name = "capability-" + re.sub(r"[^a-z0-9]+", "-", intent.lower()).strip("-")
        number, anchor = 2, name
        while anchor in taken:
            number, anchor = number + 1, f"{name}-{number}"
        taken.add(anchor)
        anchors.append(anchor)
    return anchors


def _for_scripts(digest: Mapping[str, Any], anchors: Sequence[str]) -> dict[str, Any]:
    """Select what scripts need; edges and states are lists, since there are thousands of them."""
    return {
        "capabilities": list(map(_capability, digest["capabilities"], anchors)),
        "states": {number: list(state.values()) for number, state in digest["states"].items()},
        "phrases": {name: both for name, *both in digest["phrases"]},
        "map": {"states": digest["map"]["states"], "edges": _edges(digest["map"]["edges"])},
        "overview": {
            "groups": digest["overview"]["groups"],
            "edges": _edges(digest["overview"]["edges"]),
        },
        "learning": digest["learning"],
        "audit": digest["audit"],
        "spending": [[part["name"], part["executions"]] for part in digest["spending"]],
        "coverage": digest["coverage"]["draws_per_pair"],
    }


def _capability(capability: Mapping[str, Any], anchor: str) -> dict[str, Any]:
    return {
        "intent": capability["intent"],
        "anchor": anchor,
        "command": f"capscope show DIR {shlex.quote(capability['intent'])} --draws",
        "rules": [
            {
                "marks": [outcome["mark"] for outcome in rule["outcomes"]],
                "draws_count": rule["draws_count"],
                "draws": rule["draws"],
            }
            for rule in capability["rules"]
        ],
    }


def _edges(edges: Iterable[Edge]) -> list[tuple[float, ...]]:
    return [(*ends, round(share, 4), executions) for *ends, share, executions in edges]
