"""Adapters: worlds, agents and model servers of other libraries as capscope problems."""
