"""Run folders: their types, reading and writing them, and finding them again by SQL."""
