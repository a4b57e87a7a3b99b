"""Sash."""
