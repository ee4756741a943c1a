"""Watches what storage targets, servers, links and clients move, while a run or a command goes on.

Each source has a module that parses the text of its counters and does nothing else (``diskstats``,
``network``, ``processors``, ``nfs``, ``lustre``, ``ceph``, ``gluster``, ``gpfs``, ``beegfs``).
``drivers`` reads the texts, ``sampler`` calls the drivers at fixed times, ``recording`` keeps what
changed in a file, and ``samples`` makes a Parquet file of it, on the clock of a run's events.
``beside`` runs a monitor beside the job of ``weir bench``.
"""
