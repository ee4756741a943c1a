"""Defines, reads and writes run folders, and finds them by SQL."""
