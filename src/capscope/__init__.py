"""Find out what an AI agent can do, when, and with what side effects."""

__version__ = "0.1.0"
