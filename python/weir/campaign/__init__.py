"""Campaigns: planned sets of runs, in randomised order, resumable."""
