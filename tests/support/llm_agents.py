"""An agent that asks a language model which switch of the board in `toy_worlds` to press."""

import hashlib

from capscope.adapters.llm import Calls, LlmSettings, Sampling, shared_client
from support.llm_stub import say
from support.toy_worlds import Board, board_problem

QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
KEY = "sk-canary-0123456789abcdef"
ASKED = Sampling(max_tokens=8)
TOKENS = 15
"""Tokens that the stub reports for a prompt and its answer."""


class Asker:
    """Presses the switch that the model names; any other answer ends the attempt."""

    def __init__(self, client):
        self.client = client

    def begin(self, intent, seed):
        return Asking(Calls(self.client, seed), intent)


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
        question = f"Lit: {observation:03b}. Wanted: {self.intent}."
        messages = [
            {"role": "system", "content": "Name a switch, or say done."},
            {"role": "user", "content": question},
        ]
        text = self.calls.complete(messages, ASKED).text
        return text if text in ("a", "b", "c", "wait") else None


def choose(handler, request):
    """Answer as a model would: the choice depends only on the question and its seed."""
    text = f"{request['messages'][-1]['content']}{request['seed']}"
    digest = hashlib.sha256(text.encode()).digest()
    say(("a", "b", "c", "done", "I cannot do that")[digest[0] % 5])(handler, request)


def asking_board(client=None, **limits):
    """Make the problem `llm_agents.py:asking_board`; the server is in the environment."""
    client = client or shared_client(LlmSettings.from_environment())
    limits = limits or {"temporal_length": None, "horizon": 3}
    return board_problem(Board(slip=0.3), Asker(client), **limits)
