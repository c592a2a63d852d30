"""Is the statement of an audit true? The exact rate of surprises, computed from the truth."""

from __future__ import annotations

from collections import defaultdict

from capscope.analysis.evaluation.reference import TrueModel
from capscope.run import Run
from capscope.statistics.audit import AuditResult, step_weights
from capscope.symbolic import State


def surprise_rate(run: Run, truth: TrueModel, audit: AuditResult) -> float:
    """Return how often an execution, drawn as the audit draws them, surprises the audited model.

    Capabilities are those of the run: each is as likely as any other, after any history.
    """
    model = run.model
    intents = list(run.capabilities)
    initial = run.initial_positions.states
    met = {state: 1.0 / len(initial) for state in initial}
    rate = 0.0
    for weight in step_weights(max(audit.length, 1)):
        after_step: defaultdict[State, float] = defaultdict(float)
        for state, share in met.items():
            for capability, intent in enumerate(intents):
                for after, probability in truth.predict(state, intent).items():
                    part = share * probability / len(intents)
                    after_step[after] += part
                    if not model.foresees(state, capability, after):
                        rate += weight * part
        met = after_step
    return rate
