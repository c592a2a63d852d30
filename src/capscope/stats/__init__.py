"""Tests, intervals and bounds that stay valid when the next draw depends on earlier ones.

Nothing here knows about runs, agents or vocabularies: the functions take counts and return scores,
which are compared with a threshold from an `ErrorBudget`.
"""
