"""Measuring this machine's path and drawing platform descriptions."""
