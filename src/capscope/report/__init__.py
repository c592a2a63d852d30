"""Runs and learned models for people: text, pages and notebooks."""
