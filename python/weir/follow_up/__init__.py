"""Proposes the next test from results and a model: what it would teach, at what cost, and why."""
