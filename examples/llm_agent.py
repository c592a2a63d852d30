"""Assess a language model that ferries a wolf, a goat and a cabbage across a river.

export CAPSCOPE_LLM_BASE_URL=… CAPSCOPE_LLM_MODEL=…      # or: capscope llm fetch
capscope assess examples/llm_agent.py:problem --max-executions 100 --max-tokens 100000
capscope show runs/llm_agent-problem-adaptive-0 'across(goat)' --draws --transcript
"""

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.adapters.llm import Calls, LlmSettings, Sampling, shared_client
from capscope.problem import FunctionAbstraction, FunctionWorld

LOAD = ("wolf", "goat", "cabbage")
VOCABULARY = Vocabulary(
    [Predicate("across", ("thing",)), Predicate("eaten", ("thing",))], dict.fromkeys(LOAD, "thing")
)
START = dict.fromkeys(("ferryman", *LOAD), "near")


def actions(banks):
    return ["row alone", *(f"take {what}" for what in LOAD if banks[what] == banks["ferryman"])]


def row(banks, action):
    other = "far" if banks["ferryman"] == "near" else "near"
    banks = {**banks, "ferryman": other} | ({action[5:]: other} if action != "row alone" else {})
    for eater, prey in (("wolf", "goat"), ("goat", "cabbage")):
        if banks[eater] == banks[prey] != banks["ferryman"]:
            banks[prey] = "eaten"
    return banks


def atoms(banks):
    sides = {"far": "across", "eaten": "eaten"}
    return [f"{sides[banks[what]]}({what})" for what in LOAD if banks[what] in sides]


class Ferryman:
    def begin(self, intent, seed):
        return Crossing(shared_client(LlmSettings.from_environment()), seed, intent)


class Crossing(Calls):  # counts tokens and respects budgets
    def __init__(self, client, seed, intent):
        super().__init__(client, seed)
        self.intent, self.transcript = intent, ""

    def act(self, banks):
        prompt = f"You row a boat. Banks: {banks}. Goal: {self.intent}. Answer with one of: done, "
        question = {"role": "user", "content": prompt + ", ".join(actions(banks))}
        answer = self.complete([question], Sampling(max_tokens=100)).text
        self.transcript += f"{question['content']}\n> {answer}\n"
        return next((action for action in actions(banks) if action in answer.lower()), None)


def problem():
    world, limits = FunctionWorld(START, row, actions), Limits(temporal_length=None, horizon=8)
    return Problem("river", world, Ferryman(), FunctionAbstraction(VOCABULARY, atoms), limits)
