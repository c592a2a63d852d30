"""The two learners of AALpy. The only module that imports AALpy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aalpy.base import SUL
from aalpy.learning_algs import run_Alergia, run_stochastic_Lstar
from aalpy.learning_algs.stochastic import StochasticLStar
from aalpy.learning_algs.stochastic.SamplingBasedObservationTable import (
    SamplingBasedObservationTable,
)
from aalpy.oracles import RandomWalkEqOracle

from capscope.seeds import child_seed
from capscope_experiments.baselines import BudgetSpent
from capscope_experiments.baselines.aalpy.learned_mdp import label
from capscope_experiments.baselines.aalpy.learning import INPUTS, Observe
from capscope_experiments.baselines.aalpy.peer_run import PeerSettings
from capscope_experiments.baselines.aalpy.system import AgentSystem


class SystemUnderLearning(SUL):  # type: ignore[misc]  # AALpy is not typed
    """The agent as AALpy sees it: an input is the number of a capability, an output a label."""

    def __init__(self, system: AgentSystem) -> None:
        super().__init__()
        self._system = system

    def pre(self) -> None:
        """Begin a trace."""
        self._system.reset()

    def post(self) -> None:
        """End a trace; the next one begins with a reset."""

    def step(self, letter: int | None) -> str:
        """Request a capability; None only observes."""
        return label(self._system.state if letter is None else self._system.request(letter))


@contextmanager
def _observed_hypotheses(observe: Observe) -> Iterator[None]:
    # AALpy shows a hypothesis to its oracle only if no untried input is left in it, which on
    # blocksworld comes after nine tenths of the run. A run cut before that would seem to have
    # learned nothing. So each is caught when it is generated, by replacing AALpy's own table.
    class ShowingTable(SamplingBasedObservationTable):  # type: ignore[misc]
        def generate_hypothesis(self) -> Any:
            hypothesis = super().generate_hypothesis()
            observe(hypothesis.states)
            return hypothesis

    before = StochasticLStar.SamplingBasedObservationTable
    StochasticLStar.SamplingBasedObservationTable = ShowingTable
    try:
        yield
    finally:
        StochasticLStar.SamplingBasedObservationTable = before


def learn_l_star_mdp(system: AgentSystem, settings: PeerSettings, observe: Observe) -> str:
    """Run L*_MDP until its observation table is unambiguous, or `max_rounds`."""
    agent = SystemUnderLearning(system)
    alphabet = list(range(len(system.intents)))
    oracle = RandomWalkEqOracle(
        alphabet, agent, settings.oracle_steps, reset_prob=settings.reset_probability
    )
    with _observed_hypotheses(observe):
        mdp, data = run_stochastic_Lstar(
            alphabet,
            agent,
            oracle,
            target_unambiguity=settings.target_unambiguity,
            min_rounds=settings.min_rounds,
            max_rounds=settings.max_rounds,
            automaton_type="mdp",
            strategy=settings.strategy,
            cex_processing=settings.cex_processing,
            samples_cex_strategy=settings.samples_cex_strategy,
            return_data=True,
            n_c=settings.complete_cell,
            n_resample=settings.resample,
            print_level=0,
        )
    observe(mdp.states)
    rounds = data["learning_rounds"]
    if rounds >= settings.max_rounds:
        return "maximum number of rounds reached"
    return f"done in {rounds} rounds"


def learn_alergia(system: AgentSystem, settings: PeerSettings, observe: Observe) -> str:
    """Sample random traces and let Alergia merge their prefix tree into an MDP."""
    traces: list[list[Any]] = []
    try:
        for number in range(settings.traces):
            rng = random.Random(child_seed(settings.seed, INPUTS, number))
            traces.append([label(system.reset())])
            for _ in range(rng.randint(settings.shortest, settings.longest)):
                capability = rng.randrange(len(system.intents))
                traces[-1].append((capability, label(system.request(capability))))
    except BudgetSpent:
        observe(run_Alergia(traces, "mdp", settings.epsilon).states)
        raise
    observe(run_Alergia(traces, "mdp", settings.epsilon).states)
    return f"all of {settings.traces:,} traces sampled"


LEARNERS = {"l-star-mdp": learn_l_star_mdp, "alergia": learn_alergia}
