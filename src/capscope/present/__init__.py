"""Learned models for people."""
