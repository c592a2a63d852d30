"""Ask a language model: a client for OpenAI-compatible servers, and a small local model.

An agent asks through `Calls`, which numbers the calls of an attempt. `LlmClient` checks the answer
cache, asks the server if needed, retries temporary failures, and stores the answer before returning
it. Whatever the model says is data for the agent; a server that cannot be asked raises `LlmError`,
which stops the run and records nothing, and one that refuses a conversation raises
`ConversationRefused`, which ends the attempt. `scores` gives the probabilities of the first token
of an answer instead of an answer.

`openai` and `xllamacpp` are extras, imported on first use.
"""

from capscope.adapters.llm.answers import CallId, Completion, Message, Sampling, TokenScores
from capscope.adapters.llm.client import Calls, LlmClient, ModelAttempt, shared_client
from capscope.adapters.llm.settings import LlmSettings

__all__ = [
    "CallId",
    "Calls",
    "Completion",
    "LlmClient",
    "LlmSettings",
    "Message",
    "ModelAttempt",
    "Sampling",
    "TokenScores",
    "shared_client",
]
