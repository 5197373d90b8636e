"""Holds no tests."""
