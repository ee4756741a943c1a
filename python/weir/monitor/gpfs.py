"""GPFS (IBM Storage Scale): ``mmpmon -p`` with the request ``fs_io_s``.

Its manual page gives the output for programs: one line for each mounted file system, of words and
values in turn. ``_nn_`` is the node, ``_fs_`` the file system, ``_br_`` and ``_bw_`` are bytes read
and written, ``_oc_ _cc_ _rdc_ _wc_ _dir_ _iu_`` calls of open, close, read, write, readdir, and
updates of inodes; ``_rc_`` is 0 where the request succeeded. It counts what this node moved.
"""

from __future__ import annotations

from weir.monitor.counters import Key, Values

SOURCE = "gpfs"
REQUEST = "fs_io_s\n"
CALLS = ("_oc_", "_cc_", "_rdc_", "_wc_", "_dir_", "_iu_")


def parse_line(line: str) -> tuple[Key, Values] | None:
    """Returns the counters of one file system; None for another line, or a failed request."""
    words = line.split()
    if not words or words[0] != "_fs_io_s_":
        return None
    said = dict(zip(words[1::2], words[2::2], strict=False))
    if said.get("_rc_") != "0" or "_fs_" not in said:
        return None
    calls = sum(int(said.get(name, 0)) for name in CALLS)
    values = Values(int(said.get("_br_", 0)), int(said.get("_bw_", 0)), calls)
    return Key("client", SOURCE, said["_fs_"]), values
