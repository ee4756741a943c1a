"""Where files lie: what file systems say of it, how they are followed, what it explains."""

from __future__ import annotations

import json
import os
import shlex
import struct
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from synthetic import make_events, make_run, write_run_folder
from weir.model.verdict import verdict
from weir.placement import beegfs, ceph, following, gluster, lustre
from weir.placement.finding import Mount, finder_for, mount_of
from weir.placement.following import Expected, Following, rank_of
from weir.placement.layouts import Layout, Piece, on_one
from weir.report.anomalies import examine
from weir.results.finalize import finalize
from weir.results.folder import load_run
from weir.results.index import query
from weir.results.placements import Placement, read_placements, used_by, write_placements

MIB = 1 << 20
# Recorded on a metadata target by debugfs, in the mailing list lustre-discuss of 13 January 2013
# ("The meaning of LOV code of a MDT file"): one object, on the target with the index 6.
LOV = bytes.fromhex(
    "d00bd10b 01000000 ccf53d00 00000000 00000000 00000000 00001000 0100 0000"
    "05ec0200 00000000 00000000 00000000 00000000 06000000"
)
# GlusterFS's documentation, gfid-to-path; and a replicated volume as its mailing lists show it.
PATHINFO = "(<DISTRIBUTE:test-dht> <POSIX(/mnt/brick-test/b):vm1:/mnt/brick-test/b/dir//file3>)"
COPIES = (
    "(<DISTRIBUTE:v-dht> (<REPLICATE:v-replicate-0> <POSIX(/b1):node1:/b1/f> "
    "<POSIX(/b2):node2:/b2/f>))"
)
# BeeGFS's documentation, "Deep Inspection".
ENTRY = """\
Entry type: file
EntryID: 0-5D285750-1
Metadata node: node1.beeg.local [ID: 1]
Stripe pattern details:
+ Type: RAID0
+ Chunksize: 512k
+ Number of storage targets: desired: 2; actual: 2
+ Storage targets:
  + 1 @ node1.beeg.local [ID: 1]
  + 2 @ node2.beeg.local [ID: 2]
Chunk path: u0/0/r/root/0-5EC39809-1
"""


def test_lustre_tells_the_targets_of_the_objects() -> None:
    assert lustre.parse_layout("scratch", LOV) == Layout((Piece(0, -1, MIB, ("scratch-OST0006",)),))
    for size in range(len(LOV)):
        assert lustre.parse_layout("scratch", LOV[:size]) is None
    released = LOV[:4] + struct.pack("=I", 0x80000001) + LOV[8:]
    assert lustre.parse_layout("scratch", released) is None


def test_a_component_without_objects_is_asked_for_again() -> None:
    """A composite layout, as lustre_user.h has it, of which only the first component is used."""

    def component(flags: int, since: int, until: int, at: int) -> bytes:
        return struct.pack("=IIQQIIIIQ", 1, flags, since, until, at, len(LOV), 0, 0, 0)

    last = (1 << 64) - 1
    begin = 32 + 2 * 48
    head = struct.pack("=IIIHH16x", 0x0BD60BD0, 0, 0, 0, 2)
    entries = component(0x10, 0, MIB, begin) + component(0, MIB, last, begin + len(LOV))
    found = lustre.parse_layout("fs", head + entries + LOV + LOV)
    assert found == Layout((Piece(0, MIB, MIB, ("fs-OST0006",)),), is_whole=False)


def test_a_file_of_several_shards_is_not_on_the_brick_of_its_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GlusterFS 10.3, a volume with features.shard-block-size 4194304: what .meta has of it.
    mounts, file = tmp_path / "mountinfo", tmp_path / "file"
    mounts.write_text(f"20 1 0:1 / {tmp_path} rw - fuse.glusterfs host:volume rw\n")
    file.write_bytes(b"")
    told = b"(<DISTRIBUTE:v-dht> <POSIX(/brick0):vm:/brick0/big>)"
    monkeypatch.setattr(os, "getxattr", lambda *_: told)

    def is_known(file_bytes: int) -> bool:
        finder = finder_for(tmp_path, file_bytes, mounts)
        assert finder is not None
        return finder.layout(file) is not None

    for name, kind in (("v-dht", "cluster/distribute"), ("v-shard", "features/shard")):
        (tmp_path / ".meta/graphs/active" / name / "options").mkdir(parents=True)
        assert is_known(1 << 40)  # without shards
        (tmp_path / ".meta/graphs/active" / name / "type").write_text(f"{kind}\n")
    options = tmp_path / ".meta/graphs/active/v-shard/options"
    assert (is_known(64 * MIB), is_known(64 * MIB + 1)) == (True, False)
    (options / "shard-block-size").write_text("4194304")
    assert (is_known(4 * MIB), is_known(4 * MIB + 1)) == (True, False)
    os.truncate(file, 4 * MIB + 1)
    assert not is_known(1)


def test_bricks_are_called_as_the_profile_calls_them_where_their_path_tells_which() -> None:
    # GlusterFS 10.3: a brick added by an address; pathinfo has the server's own name.
    counted = ["198.19.0.1:/bricks/a", "198.19.0.1:/bricks/b", "oss1:/same", "oss2:/same"]
    placed = ["vm:/bricks/b", "oss1:/same", "node1:/same", "vm:/other"]
    assert gluster.names_in_profile(placed, counted) == {"vm:/bricks/b": "198.19.0.1:/bricks/b"}
    assert gluster.names_in_profile(["a:/x", "b:/x"], ["c:/x"]) == {}


def test_gluster_names_bricks_as_its_profile_does() -> None:
    assert gluster.parse_pathinfo(PATHINFO) == on_one("vm1:/mnt/brick-test/b")
    assert gluster.parse_pathinfo(COPIES) == Layout((Piece(0, -1, 0, ("node1:/b1",), 2),))
    assert gluster.parse_pathinfo(COPIES.replace("REPLICATE", "DISPERSE")) is None


def test_beegfs_tells_targets_and_their_servers() -> None:
    assert beegfs.parse_entry(ENTRY) == (
        Layout((Piece(0, -1, 512 << 10, ("1", "2")),)),
        {"1": "node1.beeg.local", "2": "node2.beeg.local"},
    )
    assert beegfs.parse_entry("Entry type: directory") is None


def test_ceph_objects_lie_in_the_groups_that_its_own_tool_tells() -> None:
    # Recorded: osdmaptool --test-map-object of Ceph 16.2, for a pool of 256 groups.
    for name, group in (("10000000000.00000000", 0x30), ("1000000abcd.00000001", 0xFA)):
        assert ceph.group_of(name, 256) == group
    assert ceph.group_of("hello", 256) == 0x9E
    # In a pool of 200 groups, Ceph folds numbers of 200 and more to 7 bits.
    assert ceph.group_of("1000000abcd.00000001", 200) == 0xFA & 0x7F
    assert ceph.group_of("hello", 200) == 0x9E


def test_ceph_files_are_cut_into_objects() -> None:
    words = ceph.parse_file_layout("stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=d")
    stats = [{"pgid": f"2.{n:x}", "acting": [n % 4, 9]} for n in reversed(range(256))]
    primaries = ceph.primaries_of(json.dumps({"pg_stats": stats}))
    inode = 0x10000000000
    found = ceph.layout_of(inode, words, primaries, 9 * MIB)
    assert found is not None
    (piece,) = found.pieces
    assert (piece.to_byte, piece.stripe_bytes, len(piece.targets)) == (12 * MIB, 4 * MIB, 3)
    assert piece.targets[0] == f"osd.{0x30 % 4}"
    striped = ceph.layout_of(
        inode, words | {"stripe_count": "2", "stripe_unit": str(MIB)}, primaries, 9 * MIB
    )
    assert striped is not None
    assert [(one.from_byte, one.stripe_bytes, len(one.targets)) for one in striped.pieces] == [
        (0, MIB, 2),
        (8 * MIB, MIB, 2),
    ]
    with pytest.raises(ValueError, match="without an OSD"):
        ceph.primaries_of(json.dumps(stats[:-1]))


def test_a_file_that_is_removed_while_the_cluster_answers_is_known_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts, file, tool = tmp_path / "mountinfo", tmp_path / "file", tmp_path / "bin" / "ceph"
    mounts.write_text("20 1 0:1 / / rw - fuse.ceph-fuse ceph-fuse rw\n")
    file.write_bytes(bytes(9))
    stats = json.dumps([{"pgid": "2.0", "acting": [3]}])
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nrm {shlex.quote(str(file))}\necho '{stats}'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    layout = b"stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data"
    monkeypatch.setattr(os, "getxattr", lambda *_: layout)
    finder = finder_for(tmp_path, 9 * MIB, mounts)
    assert finder is not None
    found = finder.layout(file)
    assert found is not None
    assert not file.exists()
    assert found.pieces[0].targets == ("osd.3",) * 3


def test_the_innermost_mount_counts(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    folder = str(tmp_path).replace(" ", "\\040")
    mounts.write_text(
        f"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 0:9 / {folder} rw - nfs4 nas:/export rw\n"
    )
    assert mount_of(tmp_path, mounts) == Mount(str(tmp_path), "nfs4", "nas:/export")
    finder = finder_for(tmp_path, 0, mounts)
    assert finder is not None
    assert finder.layout(tmp_path / "x") == on_one(str(tmp_path))
    assert finder.servers() == {str(tmp_path): "nas"}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("weir-20261126T0-stream-2a05eaeb-posix-per-rank-segmented-256k.00000003", 3),
        ("weir-posix-per-rank-segmented-256k.00000012.7", 12),
        ("weir-posix-unique-sync-11", 11),
        ("weir-posix-shared-sync", None),
        ("weir-mpi-shared-sync-shared", None),
        ("weir-rank-00000005/weir-x", 5),
    ],
)
def test_names_of_files_tell_whose_they_are(name: str, rank: int | None) -> None:
    assert rank_of(Path("/data") / name) == rank


class Alternating:
    """Each new file lies on the next of two targets."""

    source = "test"
    at_a_time = 100

    def __init__(self) -> None:
        self.asked = 0

    def layout(self, path: Path) -> Layout | None:
        del path
        self.asked += 1
        return on_one(f"OST{self.asked % 2}")

    def servers(self) -> Mapping[str, str]:
        return {"OST0": "oss", "OST1": "oss"}


def test_files_are_followed_from_one_repetition_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = Alternating()
    monkeypatch.setattr(following, "finder_for", lambda *_: finder)
    folder = tmp_path / "weir-id"
    folder.mkdir()
    one = Following(tmp_path, [], {"A": Expected(1, MIB)})
    one.start()
    (tmp_path / "files.json").write_text(json.dumps({"directory": str(folder)}))
    for repetition in (0, 1):
        one.begins("A", repetition)
        file = folder / "weir-a-0"
        # The file comes from outside, so that it is never seen under another name.
        (tmp_path / f"new-{repetition}").write_bytes(b"")
        (tmp_path / f"new-{repetition}").rename(file)
        deadline = time.monotonic() + 20
        while ("A", repetition) not in one.seen or not one.seen["A", repetition]:
            assert time.monotonic() < deadline
            threading.Event().wait(0.01)
        file.rename(tmp_path / f"kept-{repetition}")
    one.end()
    rows = one.placements("A")
    assert [(row.repetition, row.rank, row.target, row.server) for row in rows] == [
        (0, 0, "OST1", "oss"),
        (1, 0, "OST0", "oss"),
    ]
    assert finder.asked == 2
    assert one.placements("B") == []


def placed(
    repetition: int, path: str, rank: int | None, targets: str, stripe_bytes: int = 0
) -> list[Placement]:
    return [
        Placement(repetition, path, rank, 0, -1, stripe_bytes, stripe, name, f"s{name}", 1)
        for stripe, name in enumerate(targets.split())
    ]


def test_transfers_use_the_target_of_their_stripe() -> None:
    rows = [*placed(0, "own", 1, "b"), *placed(0, "all", None, "a b", MIB)]
    offsets = np.array([0, MIB, 2 * MIB, MIB - 1], dtype=np.int64)
    zeros = np.zeros(4, dtype=np.int64)
    used = used_by(rows[1:], zeros, zeros, offsets, np.full(4, 2, dtype=np.int64))
    assert used.targets == ["a", "b"]
    assert used.target_of.tolist() == [0, 1, 0, -1]  # The last one is on both.
    of_rank = used_by(rows[:1], zeros, np.array([0, 1, 1, 0]), offsets, zeros)
    assert of_rank.file_of.tolist() == [-1, 0, 0, -1]
    other = used_by(rows[:1], zeros + 1, zeros + 1, offsets, zeros)
    assert other.file_of.tolist() == [-1] * 4


def test_a_slow_target_is_named_with_the_way_to_it(tmp_path: Path) -> None:
    """Ranks 3 and 7 of 8 have their files on the fourth target, which takes twice as long."""
    fields = {"ranks": 8, "ranks_per_host": 4, "bins": 12, "straggler_factor": 2.0}
    fields |= {"straggler_rank": 3, "further_stragglers": (7,), "repetitions": 2}
    folder = write_run_folder(tmp_path / "run", make_run(**fields), make_events(**fields))
    rows = [
        Placement(
            repetition,
            f"/lustre/weir-x-{rank}",
            rank,
            0,
            -1,
            MIB,
            0,
            f"OST{rank % 4}",
            f"oss{rank % 4 // 2}",
            1,
        )
        for repetition in range(3)
        for rank in range(8)
    ]
    write_placements(folder, rows)
    assert read_placements(folder) == rows
    finalize(folder, verdict, examine)
    assert "  files.parquet\n" in (folder / "SHA256SUMS").read_text()
    slow = [one for one in load_run(folder).anomalies or [] if one.kind.startswith("slow")]
    assert {one.kind for one in slow} == {"slow target"}
    assert all("times faster without target OST3" in one.text for one in slow)
    way = (
        "its transfers go from rank 3, 7 to node node00, node01 to file weir-x-3, weir-x-7 to "
        "target OST3 to server oss1"
    )
    assert all(way in one.reasons for one in slow)
    assert all(any("the server is not the cause" in text for text in one.reasons) for one in slow)
    sql = "SELECT target, count(DISTINCT path) FROM files GROUP BY target ORDER BY target"
    assert query(tmp_path, sql, print).rows == [(f"OST{number}", 2) for number in range(4)]


def test_transfers_of_others_data_are_not_attributed_to_files(tmp_path: Path) -> None:
    fields = {"ranks": 8, "bins": 12, "straggler_factor": 2.0, "repetitions": 2}
    run = make_run(**fields)
    shift = next(iter(run.parameters.values())).model_copy(update={"value": 1})
    run = run.model_copy(update={"parameters": run.parameters | {"rank_shift": shift}})
    folder = write_run_folder(tmp_path / "run", run, make_events(**fields), finalized=True)
    rows = [
        Placement(repetition, f"/f-{rank}", rank, 0, -1, 0, 0, f"OST{rank % 4}", None, 1)
        for repetition in range(3)
        for rank in range(8)
    ]
    write_placements(folder, rows)
    found = {
        (one.function, one.direction): any(
            "/f-" in text or "file f-" in text for text in one.reasons
        )
        for one in examine(folder, run) or []
        if one.kind.startswith("slow")
    }
    assert found[("S", "write")]
    assert [place for place, is_attributed in found.items() if is_attributed] == [("S", "write")]
    assert ("W", "write") in found
