"""Makes hardware of known behaviour out of one Linux machine: targets, hosts, file systems.

``commands.py`` is the command line. Each part (targets, hosts, gluster, ceph) has a module with its
name. A part enters each resource in the journal (``journal.py``) before it makes the resource, so
that ``down.py`` can remove it even if making the part was interrupted.
"""
