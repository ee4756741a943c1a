"""Derives figures and verdicts from results, for the model, the report and the command line."""
