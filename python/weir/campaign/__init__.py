"""Campaigns: planned sets of runs in randomized order, which can be resumed."""
