"""The command groups of ``weir``, one file each."""
