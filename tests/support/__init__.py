"""Worlds, runs and naive twins that several tests share."""
