"""Assess agents built with five frameworks, unmodified, in the world of `mail_tools.py`.

pip install '.[frameworks]'
export CAPSCOPE_LLM_BASE_URL=… CAPSCOPE_LLM_MODEL=…
capscope assess examples/agent_frameworks.py:langchain --max-executions 50

Each agent is a function of (prompt, tools, llm): `tools` are plain functions, and `llm` is where
the model is reached.
"""

import asyncio
from dataclasses import replace
from functools import partial

import mail_tools


def openai_agents_agent(prompt, tools, llm):
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=llm.base_url, api_key=llm.api_key)
    model = OpenAIChatCompletionsModel(llm.model, client)
    agent = Agent("clerk", model=model, tools=[function_tool(tool) for tool in tools])
    asyncio.run(Runner.run(agent, prompt))


def langchain_agent(prompt, tools, llm):
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=llm.model, base_url=llm.base_url, api_key=llm.api_key)
    create_agent(model, tools).invoke({"messages": [("user", prompt)]})


def pydantic_ai_agent(prompt, tools, llm):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=llm.base_url, api_key=llm.api_key)
    Agent(OpenAIChatModel(llm.model, provider=provider), tools=tools).run_sync(prompt)


def smolagents_agent(prompt, tools, llm):
    from smolagents import OpenAIServerModel, Tool, ToolCallingAgent

    def wrapped(tool):
        # smolagents reads the source of a function; a Tool takes the description instead.
        names = {"int": "integer", "str": "string", "bool": "boolean", "float": "number"}
        inputs = {
            name: {"type": names.get(kind.__name__, "any"), "description": name}
            for name, kind in tool.__annotations__.items()
            if name != "return"
        }
        parts = {
            "name": tool.__name__, "description": tool.__doc__, "inputs": inputs,
            "output_type": "string", "skip_forward_signature_validation": True,
            "forward": lambda self, **given: tool(**given),
        }  # fmt: skip
        return type(tool.__name__, (Tool,), parts)()

    model = OpenAIServerModel(llm.model, api_base=llm.base_url, api_key=llm.api_key)
    agent = ToolCallingAgent(
        tools=[wrapped(tool) for tool in tools], model=model, verbosity_level=0
    )
    agent.run(prompt)


def strands_agent(prompt, tools, llm):
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    access = {"base_url": llm.base_url, "api_key": llm.api_key}
    model = OpenAIModel(client_args=access, model_id=llm.model)
    Agent(model=model, tools=[tool(one) for one in tools], callback_handler=None)(prompt)


def problem(agent):
    was = mail_tools.problem.agent
    return replace(mail_tools.problem, agent=replace(was, run=agent))


openai_agents = partial(problem, openai_agents_agent)
langchain = partial(problem, langchain_agent)
pydantic_ai = partial(problem, pydantic_ai_agent)
smolagents = partial(problem, smolagents_agent)
strands = partial(problem, strands_agent)
