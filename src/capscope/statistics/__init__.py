"""Betting scores, intervals and tests that stay valid under adaptive sampling."""
