"""A run as an eval log of inspect_ai: `inspect view` opens it.

One sample is one execution. Its score says whether the intent held at the end; what else changed is
in its metadata. Samples with the same state and intent have one id, and the draws are their epochs,
since that is what inspect calls repeats. Executions that a budget cut short are left out.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from capscope.journal.run_directory import JOURNAL
from capscope.logic import Effect
from capscope.problem import Attempt, Ending

if TYPE_CHECKING:
    from capscope.run import Run

_VERSION = 2  # of the format of eval logs
_SCORER = "intent held"


def inspect_log(run: Run) -> str:
    """Return a run as an eval log in JSON."""
    samples = list(_samples(run))
    held = sum(sample["scores"][_SCORER]["value"] == "C" for sample in samples)
    # The folder itself changes whenever something is read from the journal.
    changed = (run.path / JOURNAL).stat().st_mtime
    written = datetime.datetime.fromtimestamp(changed, datetime.UTC)
    created = written.isoformat(timespec="seconds")
    accuracy = {"name": "accuracy", "value": held / max(len(samples), 1)}
    log = {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "created": created,
            "task": run.problem,
            "task_id": run.problem,
            "run_id": run.path.name,
            "dataset": {"name": run.problem, "samples": len(samples)},
            "model": run.identity.source,
            "config": {},
            "metadata": {"strategy": run.identity.strategy, "seed": run.identity.seed},
        },
        "plan": {"name": "capscope", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [
                {"name": _SCORER, "scorer": _SCORER, "metrics": {"accuracy": accuracy}},
            ],
        },
        "stats": {"started_at": created, "completed_at": created},
        "samples": samples,
    }
    return json.dumps(log, indent=1) + "\n"


def _samples(run: Run) -> Iterator[dict[str, Any]]:
    epochs: Counter[str] = Counter()
    with run.open_journal() as journal:
        for query in range(len(run.executions.queries)):
            for number, draw in enumerate(journal.draws(query)):
                for execution, (capability, attempt) in enumerate(draw.executions):
                    if attempt.ending is Ending.CUT:
                        continue
                    place = query, number, execution
                    sample = _sample(run, capability, attempt, journal.transcript(*place))
                    sample["metadata"]["execution"] = list(place)
                    epochs[sample["id"]] += 1
                    sample["epoch"] = epochs[sample["id"]]
                    yield sample


def _sample(run: Run, capability: int, attempt: Attempt, transcript: str) -> dict[str, Any]:
    intent, vocabulary = run.capabilities[capability], run.graph.vocabulary
    before, after = attempt.trajectory[0], attempt.trajectory[-1]
    effect = Effect.between(before, after)
    beyond = run.graph.exactly_one.beyond(effect, intent, vocabulary)
    achieved = intent.holds(after, vocabulary)
    changes = [str(literal) for literal in effect.literals(vocabulary)]
    text = ", ".join(changes) or "nothing changed"
    holding = ", ".join(map(str, vocabulary.holding(before))) or "nothing holds"
    answer = {"role": "assistant", "content": text}
    return {
        "id": f"{intent} in {before:#x}",
        "epoch": 1,
        "input": f"{intent}, asked for in: {holding}",
        "target": str(intent),
        "messages": [{"role": "assistant", "content": transcript}] if transcript else [],
        "output": {
            "model": run.identity.source,
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": text,
        },
        "scores": {
            _SCORER: {"value": "C" if achieved else "I", "answer": text, "explanation": text}
        },
        "metadata": {
            "side_effects": [str(literal) for literal in beyond.literals(vocabulary)],
            "ending": str(attempt.ending),
            "detail": attempt.detail,
            "simulator_steps": attempt.simulator_steps,
            "llm_tokens": attempt.llm_tokens,
        },
    }
