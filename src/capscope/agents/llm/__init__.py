"""Ask a language model: one client for any server with the OpenAI protocol, and a local model.

An agent asks through `Calls`, which number the calls of an attempt. `LlmClient` looks into the
answer cache first, asks the server if need be, tries again where that helps, and writes the answer
down before anybody uses it. What the model says, however foolish, is data for the agent; a server
that cannot be asked is an `LlmError`, which stops the run and records nothing.

`openai` and `xllamacpp` are extras; each is imported when it is first needed.
"""

from capscope.agents.llm.client import Calls, LlmClient, shared_client
from capscope.agents.llm.completion import Completion, Message, Place, Sampling
from capscope.agents.llm.local import local_server
from capscope.agents.llm.settings import LlmSettings

__all__ = [
    "Calls",
    "Completion",
    "LlmClient",
    "LlmSettings",
    "Message",
    "Place",
    "Sampling",
    "local_server",
    "shared_client",
]
