"""Gives the advice that a computing centre's expert would give on a program's metadata operations.

The program runs unchanged. `records` reads what its processes left
(`src/adapters/calls/record.hpp`), `use` merges this over the ranks, and `rules` finds what is
wrong.
"""
