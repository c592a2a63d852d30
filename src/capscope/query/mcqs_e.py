"""MCQS-E."""

from capscope.query.random_query import RandomQuery as McqsExact

__all__ = ["McqsExact"]
