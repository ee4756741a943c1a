"""Finds on which targets of a file system each file of a job lies, while the files are there.

``layouts`` has what a file system says of a file, as values: pieces of the file and their targets.
``lustre``, ``ceph``, ``gluster`` and ``beegfs`` parse these texts and do nothing else. ``finding``
asks the file system of a path, ``following`` looks for new files while the job runs, and
``weir.results.placements`` has the table that is kept in the run folder.
"""
