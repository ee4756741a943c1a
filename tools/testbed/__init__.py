"""Hardware of known behaviour made out of one Linux machine: targets, hosts, file systems.

``commands.py`` is the command line. Each part (targets, hosts, gluster, ceph) has a module of its
name. What a part makes is entered in the journal (``journal.py``) before it is made, so that
``down.py`` takes it away again wherever the making ended.
"""
