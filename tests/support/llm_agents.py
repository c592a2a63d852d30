"""An agent that lets a language model choose each switch of the board in `toy_worlds`."""

import hashlib

from capscope.agents.llm import LlmSettings, Sampling, shared_client
from support.llm_stub import say
from support.toy_worlds import Board, board_problem

QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
KEY = "sk-canary-0123456789abcdef"
ASKED = Sampling(max_tokens=8)
TOKENS = 15
"""What the stub says that an answer took, the question included."""


class Asker:
    """Presses what the model says; an answer that names no switch ends the attempt."""

    def __init__(self, client):
        self.client = client

    def begin(self, intent, seed):
        return Asking(self.client.calls(seed), intent)


class Asking:
    def __init__(self, calls, intent):
        self.calls = calls
        self.intent = intent

    @property
    def llm_tokens(self):
        return self.calls.llm_tokens

    def spend_from(self, allowance):
        self.calls.spend_from(allowance)

    def act(self, observation):
        words = f"Lit: {observation:03b}. Wanted: {self.intent}."
        messages = [
            {"role": "system", "content": "Name a switch, or say done."},
            {"role": "user", "content": words},
        ]
        text = self.calls.complete(messages, ASKED).text
        return text if text in ("a", "b", "c", "wait") else None


def choose(handler, request):
    """The stub as a model: a choice that depends on the question and its seed, and on no order."""
    words = f"{request['messages'][-1]['content']}{request['seed']}"
    chance = hashlib.sha256(words.encode()).digest()[0]
    say(("a", "b", "c", "done", "I cannot do that")[chance % 5])(handler, request)


def asking_board(client=None, **limits):
    """The factory for `llm_agents.py:asking_board`; the server is in the environment."""
    client = client or shared_client(LlmSettings.from_environment())
    limits = limits or {"temporal_length": None, "horizon": 3}
    return board_problem(Board(slip=0.3), Asker(client), **limits)
