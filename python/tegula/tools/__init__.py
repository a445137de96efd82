"""Helpers beside the compiler."""
