"""Learned models for other tools."""
