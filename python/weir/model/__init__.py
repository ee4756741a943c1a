"""The path model: what a run should reach, from its plan and a calibration. Pure functions."""
