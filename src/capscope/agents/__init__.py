"""The agents that come with capscope; `llm` is the language-model client that some of them use."""
