"""The path model: pure functions from a run's plan and a platform to the expected rates."""
