"""What the monitor reads out of the texts of counters.

No file system but block devices is on the machine of these tests. The texts have the form that the
named sources give, cut to the lines that matter, with figures of this file's own, or are recorded
where that is said.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from weir.monitor import (
    beegfs,
    ceph,
    diskstats,
    gluster,
    gpfs,
    lustre,
    network,
    nfs,
    processors,
)
from weir.monitor.counters import Key, Values, grown
from weir.monitor.drivers import (
    DaemonDriver,
    LinesDriver,
    ManyDriver,
    SeldomDriver,
    SlowDriver,
    StreamDriver,
    TextDriver,
    lustre_drivers,
    whole_devices,
)

SECOND_NS = 10**9
# iostats.rst of the kernel; this line was recorded on Linux 6, which has 17 columns.
DISK = (
    b" 254       0 vda 1848790 131777 204177122 3999062 3172077 710128 399320576 2222428 0 850516"
)
DISK += b" 6634781 956971 1471 257564544 262695 916122 150595"
# proc(5); recorded.
CARD = b"  eth0: 4485169847  184747    0    0    0     0          0         0  4690887   51173    0"
CARD += b"    0    0     0       0          0"
# This text was recorded on 2026-11-29 from NFS 4.2 of Linux 6.1.176 (user-mode Linux of Debian 12),
# whose server was the same kernel. Lines of calls that were not made are left out, and some others.
RECORDED_MOUNT = b"""\
device 127.0.0.1:/ mounted on /mnt/nfs with fstype nfs4 statvers=1.1
\tage:\t17
\timpl_id:\tname='',domain='',date='0,0'
\tsec:\tflavor=1,pseudoflavor=1
\tbytes:\t2097152 4194304 0 0 2228224 4194304 544 1024
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 2 0 5 121 121 0 1155 0 30 0 1034
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 34 34 0 5984 2231760 0 1 2 0
\t       WRITE: 64 64 0 4206848 11776 1427 1906 3335 0
\t      COMMIT: 1 1 0 160 104 0 0 0 0
\t        OPEN: 2 2 0 496 740 0 0 0 0
\t       CLOSE: 2 2 0 352 288 0 0 0 0
\t      FSINFO: 2 2 0 304 336 0 0 0 0
\t      ACCESS: 2 2 0 312 336 0 0 0 0
\t     GETATTR: 1 1 0 148 240 0 0 0 0
\t LOOKUP_ROOT: 1 1 0 140 260 0 0 0 0
\t    PATHCONF: 1 1 0 144 116 0 0 0 0
\t SERVER_CAPS: 3 3 0 456 516 0 0 0 0
\t EXCHANGE_ID: 2 2 0 424 184 0 137 137 0
\tCREATE_SESSION: 1 1 0 192 124 0 0 0 0
\t    SEQUENCE: 2 2 0 232 160 0 0 0 0
\tRECLAIM_COMPLETE: 1 1 0 124 88 0 0 0 0
\tSECINFO_NO_NAME: 1 1 0 128 104 0 304 304 0
"""

# fs/nfs/super.c and net/sunrpc/stats.c of the kernel.
MOUNTS = b"""\
device /dev/vda mounted on / with fstype ext4
device server:/export mounted on /mnt/nfs with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tbytes:\t10 20 30 40 5000 6000 2 3
\txprt:\ttcp 0 0 1 0 0 9 9 0 9 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 7 7 0 100 5000 1 30 31 0
\t       WRITE: 9 9 0 6000 100 2 70 72 0

device other:/export mounted on /mnt/second with fstype nfs statvers=1.1
\tbytes:\t0 0 0 0 1 2 0 0
"""
# Lustre Operations Manual, "Monitoring the OST Data Path" and lprocfs_status.c, of 2.10 and later.
OST = """\
snapshot_time             1589930459.809922337 secs.nsecs
read_bytes                704 samples [bytes] 4096 4194304 1292415
write_bytes               521 samples [bytes] 8 4194304 2179270
read                      704 samples [usecs] 10 90 12000
write                     521 samples [usecs] 10 90 8000
setattr                   5 samples [reqs]
"""
OSC = """\
snapshot_time             1637627183.394337 secs.usecs
req_waittime              393 samples [usec] 31 17820 483362 288246
read_bytes                299 samples [bytes] 0 4194304 6895163 -31938
write_bytes               102 samples [bytes] 1 4194304 1091761 43662
ost_read                  299 samples [usec] 60 17820 2715 5512
ost_write                 102 samples [usec] 86 15329 9839 5245
"""
LLITE = """\
snapshot_time             1301585789.189183 secs.usecs
dirty_pages_hits          276 samples [regs]
read_bytes                449 samples [bytes] 1 23553884 10126233
write_bytes               201 samples [bytes] 1 20971520 23693846
open                      13 samples [regs]
"""
MDT = """\
snapshot_time             1589930459.809922337 secs.nsecs
open                      30 samples [usecs] 5 90 600
close                     10 samples [reqs]
"""
JOBS = """\
job_stats:
- job_id:          dd.0
  snapshot_time:   1322494486
  read_bytes:      { samples:        0, unit: bytes, min:       0, max:       0, sum:         0 }
  write_bytes:     { samples:        2, unit: bytes, min:    4096, max:    4096, sum:      8192 }
  setattr:         { samples:        7, unit:  reqs }
- job_id:          ior.500
  read_bytes:      { samples:        3, unit: bytes, min:       1, max:       9, sum:        12 }
"""
MDT_JOBS = """\
job_stats:
- job_id:          touch.0
  snapshot_time:   1322494602
  open:            { samples:        2, unit:  reqs }
  close:           { samples:        1, unit:  reqs }
"""
# Recorded by lctl get_param on a server (its snapshot_time is 2018-08-24), among the test data of
# whamcloud/lustre-collector (oss_parser.rs, MIT licence); some histograms are left out.
BRW = """\
snapshot_time:         1535148988.364041639 (secs.nsecs)

                           read      |     write
pages per bulk r/w     rpcs  % cum % |  rpcs        % cum %
32:\t\t         0   0   0   |    1  11  11
64:\t\t         0   0   0   |    0   0  11
1K:\t\t         0   0   0   |    8  88 100

                           read      |     write
disk I/Os in flight    ios   % cum % |  ios         % cum %
1:\t\t         0   0   0   |    2   6   6
20:\t\t         0   0   0   |    1   3 100

                           read      |     write
I/O time (1/1000s)     ios   % cum % |  ios         % cum %
4:\t\t         0   0   0   |    1  11  11

                           read      |     write
disk I/O size          ios   % cum % |  ios         % cum %
128K:\t\t         0   0   0   |    1   3   3
1M:\t\t         0   0   0   |   32  96 100
"""
# Recorded on a client of Lustre, among the test data of whamcloud/lustrefs-exporter (MIT licence).
RPCS = """\
snapshot_time:            1789952232.703630742 secs.nsecs
read RPCs in flight:  0
pending write pages:  0

\t\t\tread\t\t\twrite
pages per rpc         rpcs   % cum % |       rpcs   % cum %
1:\t\t         0   0   0   |    52489  50  50
4:\t\t         1   0   0   |    14030  13  99

\t\t\tread\t\t\twrite
rpcs in flight        rpcs   % cum % |       rpcs   % cum %
1:\t\t       512 100 100   |   103843 100 100

\t\t\tread\t\t\twrite
RPC latency (us)       count   % cum % |       count   % cum %
512:\t\t         3   0   0   |      567   0   0
"""
# GlusterFS Administrator Guide, "Displaying the I/O Information".
PROFILE = """\
Brick: alpha:/bricks/one
------------------------
Cumulative Stats:
   Block Size:               4096b+               65536b+
 No. of Reads:                    1                     2
No. of Writes:                    3                     4
 %-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop
 ---------   -----------   -----------   -----------   ------------        ----
      0.00       0.00 us       0.00 us       0.00 us              2      FORGET
     60.10      20.00 us      10.00 us      90.00 us              7       WRITE
     39.90      30.00 us      10.00 us      90.00 us              3        READ

    Duration: 335 seconds
   Data Read: 135168 bytes
Data Written: 274432 bytes

Interval 1 Stats:
     39.90      30.00 us      10.00 us      90.00 us              3        READ
   Data Read: 7 bytes
Data Written: 8 bytes

Brick: beta:/bricks/two
-----------------------
Cumulative Stats:
   Data Read: 1 bytes
Data Written: 2 bytes
"""
# GlusterFS 10.3 of Debian 12, `testbed gluster up --bricks 2`, after 20 MiB were written;
# without blanks at the ends of lines.
PROFILE_IN_NANOSECONDS = """\
Brick: 198.19.0.1:/run/weir-testbed/gluster-data/brick1
-------------------------------------------------------
Cumulative Stats:
   Block Size:             131072b+
 No. of Reads:                    0
No. of Writes:                  160
 %-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop
 ---------   -----------   -----------   -----------   ------------        ----
      0.00       0.00 ns       0.00 ns       0.00 ns              1     RELEASE
      0.01   68332.00 ns   68332.00 ns   68332.00 ns              1       FSYNC
     94.14 2755475.92 ns  106519.00 ns 47512311.00 ns            160       WRITE

    Duration: 27 seconds
   Data Read: 0 bytes
Data Written: 20971520 bytes

"""
# Recorded on a node of the Ohio Supercomputer Center, among the test data of treydock/gpfs_exporter
# (Apache licence); its _t_ is 2020-01-18. Lines of three other machines, of 2015 to 2019, which
# monitors quote, have the same words in the same order.
_MMPMON_NODE = "_fs_io_s_ _n_ 10.22.0.106 _nn_ ib-pitzer-rw02.ten _rc_ 0 _t_ 1579358234 _tu_ 53212"
MMPMON = (
    f"{_MMPMON_NODE} _cl_ gpfs.domain _fs_ scratch _d_ 48 _br_ 205607400434 _bw_ 74839282351"
    " _oc_ 2377656 _cc_ 2201576 _rdc_ 59420404 _wc_ 18874626 _dir_ 40971 _iu_ 544768",
    f"{_MMPMON_NODE} _cl_ gpfs.domain _fs_ project _d_ 96 _br_ 0 _bw_ 0"
    " _oc_ 513 _cc_ 513 _rdc_ 0 _wc_ 0 _dir_ 0 _iu_ 169",
)
# Columns of ModeIOStat.cpp, beegfs-ctl of BeeGFS 7.
SECOND = """

===== time index: {second} =====

nodeID write_KiB  read_KiB   reqs   qlen bsy name
     1      1024         0     12      0   3 store01
     2         0       512      5      1   2 store02

"""


def test_a_block_device_is_read_in_sectors_of_512_bytes() -> None:
    found = diskstats.parse_line(DISK)
    assert found is not None
    assert found[0] == Key("target", "diskstats", "vda")
    assert found[1] == Values(204177122 * 512, 399320576 * 512, 1848790 + 3172077, 850516 * 10**6)
    assert diskstats.parse_line(b"") is None


def test_partitions_and_disks_in_memory_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "sda1").mkdir()
    (tmp_path / "sda1" / "partition").write_text("1\n")
    parse = whole_devices(diskstats.parse_line, str(tmp_path))
    line = b"8 0 %s 1 0 8 0 1 0 8 0 0 1 1"
    assert parse(line % b"sda") is not None
    assert parse(line % b"loop0") is not None
    assert parse(line % b"sda1") is None
    assert parse(line % b"zram0") is None


def test_a_card_reads_what_it_receives() -> None:
    found = network.parse_line(CARD)
    assert found == (
        Key("link", "network", "eth0"),
        Values(4485169847, 4690887, 184747 + 51173, 0),
    )
    assert network.parse_line(b"Inter-|   Receive      |  Transmit") is None


def test_infiniband_counts_words_of_four_bytes() -> None:
    files = {"port_rcv_data": b"10\n", "port_xmit_data": b"20\n", "port_rcv_packets": b"1\n"}
    assert network.parse_port("mlx5_0/1", files) is None
    found = network.parse_port("mlx5_0/1", {**files, "port_xmit_packets": b"2\n"})
    assert found == (Key("link", "infiniband", "mlx5_0/1"), Values(40, 80, 3))


def test_a_recorded_mount_of_nfs_has_what_was_moved() -> None:
    """64 writes of 64 KiB with fsync, then 2 MiB read, which Linux read ahead of by 128 KiB."""
    moved = Values(2**21 + 2**17, 2**22, 121, 2348 * 10**6)
    assert nfs.parse_mountstats(RECORDED_MOUNT) == {Key("client", "nfs", "/mnt/nfs"): moved}


def test_a_mount_of_nfs_has_the_bytes_of_its_server() -> None:
    assert nfs.parse_mountstats(MOUNTS) == {
        Key("client", "nfs", "/mnt/nfs"): Values(5000, 6000, 17, 100 * 10**6),
        Key("client", "nfs", "/mnt/second"): Values(1, 2),
    }


def test_lustre_is_counted_at_the_target_and_at_the_client() -> None:
    assert lustre.parse_stats("obdfilter", "scratch-OST0001", OST) == {
        Key("target", "obdfilter", "scratch-OST0001"): Values(1292415, 2179270, 1225, 20_000_000)
    }
    assert lustre.parse_stats("osc", "scratch-OST0001", OSC) == {
        Key("client", "osc", "scratch-OST0001"): Values(6895163, 1091761, 401, 12_554_000)
    }
    assert lustre.parse_stats("llite", "scratch", LLITE) == {
        Key("client", "llite", "scratch"): Values(10126233, 23693846, 650)
    }
    assert lustre.parse_stats("mdt", "scratch-MDT0000", MDT) == {
        Key("server", "mdt", "scratch-MDT0000"): Values(0, 0, 40, 600_000)
    }
    assert lustre.parse_job_stats("job_stats", "scratch-OST0001", JOBS) == {
        Key("client", "job_stats", "dd.0@scratch-OST0001"): Values(0, 8192, 2),
        Key("client", "job_stats", "ior.500@scratch-OST0001"): Values(12, 0, 3),
    }


def test_jobs_at_a_metadata_target_have_operations() -> None:
    assert lustre.parse_job_stats("mdt_job_stats", "scratch-MDT0000", MDT_JOBS) == {
        Key("client", "mdt_job_stats", "touch.0@scratch-MDT0000"): Values(0, 0, 3)
    }


def test_lustre_counts_requests_by_their_size() -> None:
    """Histograms of other things, such as of times, are passed over."""

    def counts(source: str, text: str) -> dict[str, int]:
        found = lustre.parse_sizes(source, "fs-OST0000", text)
        assert {(key.kind, key.source) for key in found} == {("requests", source)}
        assert all(values == Values(operations=values.operations) for values in found.values())
        return {key.name: values.operations for key, values in found.items()}

    assert counts("brw_stats", BRW) == {
        "fs-OST0000 write RPCs of 32 pages": 1,
        "fs-OST0000 write RPCs of 1K pages": 8,
        "fs-OST0000 write disk I/Os of 128K": 1,
        "fs-OST0000 write disk I/Os of 1M": 32,
    }
    assert counts("rpc_stats", RPCS) == {
        "fs-OST0000 write RPCs of 1 pages": 52489,
        "fs-OST0000 read RPCs of 4 pages": 1,
        "fs-OST0000 write RPCs of 4 pages": 14030,
    }


def test_a_server_of_lustre_has_a_driver_for_each_file(tmp_path: Path) -> None:
    for place, text in (
        ("obdfilter/scratch-OST0001/stats", OST),
        ("obdfilter/scratch-OST0001/job_stats", JOBS),
        ("osd-ldiskfs/scratch-OST0001/brw_stats", BRW),
        ("mdt/scratch-MDT0000/md_stats", MDT),
        ("mdt/scratch-MDT0000/job_stats", MDT_JOBS),
    ):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    found = {driver.source: driver for driver in lustre_drivers([str(tmp_path)])}
    assert set(found) == {"obdfilter", "brw_stats", "job_stats", "mdt", "mdt_job_stats"}
    assert {key.name for key in found["obdfilter"].now()} == {"scratch-OST0001"}
    assert len(found["brw_stats"].now()) == 4
    for driver in found.values():
        driver.close()


def test_processors_are_busy_unless_idle_waiting_or_stolen() -> None:
    line = b"cpu  100 20 3000 500000 6000 70 8 9 0 0"
    found = processors.parse_line(line)
    tick = 10**9 // os.sysconf("SC_CLK_TCK")
    busy = Values(busy_ns=(100 + 20 + 3000 + 70 + 8) * tick)
    assert found == (Key("host", "processors", "processors"), busy)
    assert processors.parse_line(b"cpu0 1 2 3 4 5 6 7 8 0 0") is None
    assert processors.parse_line(b"intr 1 2 3") is None


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("scratch-OST0001-osc-ffff88003a7b6800", "scratch-OST0001"),
        ("scratch-OST0001-osc-MDT0000", "scratch-OST0001"),
        ("scratch-ffff81019a4eb000", "scratch"),
        ("scratch-OST000a", "scratch-OST000a"),
        ("scratch-MDT0000", "scratch-MDT0000"),
    ],
)
def test_lustre_names_lose_the_address_of_the_mount(folder: str, name: str) -> None:
    assert lustre.name_of(folder) == name


def test_ceph_counts_operations_of_clients_and_not_replicas() -> None:
    dump = {"osd": {"op": 3, "op_in_bytes": 100, "op_out_bytes": 200, "subop_in_bytes": 999}}
    dump["osd"]["op_latency"] = {"avgcount": 3, "sum": 0.25}  # type: ignore[assignment]
    counted = ceph.parse_perf_dump("osd.3", json.dumps(dump).encode())
    assert counted == {Key("target", "ceph", "osd.3"): Values(200, 100, 3, 250_000_000)}
    server = {"mds": {"request": 7, "reply_latency": {"avgcount": 7, "sum": 1}}}
    assert ceph.parse_perf_dump("mds.a", json.dumps(server).encode()) == {
        Key("server", "ceph", "mds.a"): Values(0, 0, 7, 10**9)
    }
    assert ceph.parse_perf_dump("mon.a", b'{"mon": {}}') == {}


def test_gluster_counts_since_the_start_of_the_profile() -> None:
    assert gluster.parse_profile(PROFILE) == {
        Key("target", "gluster", "alpha:/bricks/one"): Values(135168, 274432, 12, 230_000),
        Key("target", "gluster", "beta:/bricks/two"): Values(1, 2),
    }
    busy_ns = round(68332.00 + 2755475.92 * 160)
    name = "198.19.0.1:/run/weir-testbed/gluster-data/brick1"
    assert gluster.parse_profile(PROFILE_IN_NANOSECONDS) == {
        Key("target", "gluster", name): Values(0, 20_971_520, 162, busy_ns)
    }


def test_gpfs_has_the_bytes_and_calls_of_this_node() -> None:
    scratch_calls = 2377656 + 2201576 + 59420404 + 18874626 + 40971 + 544768
    assert [gpfs.parse_line(line) for line in MMPMON] == [
        (Key("client", "gpfs", "scratch"), Values(205607400434, 74839282351, scratch_calls)),
        (Key("client", "gpfs", "project"), Values(0, 0, 513 + 513 + 169)),
    ]
    assert gpfs.parse_line(MMPMON[0].replace("_rc_ 0", "_rc_ 1")) is None
    assert gpfs.parse_line("mmpmon node 10.0.0.1 name node1 fs_io_s status 1") is None


def test_beegfs_is_summed_and_no_second_counts_twice() -> None:
    summed = beegfs.ServerTotals()
    begun = []
    for second in (100, 100, 101, 99):
        begun += [summed.add(line) for line in SECOND.format(second=second).splitlines()]
    assert sum(begun) == 2
    assert summed.totals == {
        Key("target", "beegfs", "store01"): Values(0, 2 << 20, 24),
        Key("target", "beegfs", "store02"): Values(1 << 20, 0, 10),
    }


def test_a_counter_that_begins_anew_counts_from_zero() -> None:
    assert grown(Values(10, 10, 10, 10), Values(15, 4, 10, 11)) == Values(5, 4, 0, 1)


def test_only_changed_lines_are_parsed_again(tmp_path: Path) -> None:
    file = tmp_path / "counters"
    parsed: list[bytes] = []

    def parse(line: bytes) -> tuple[Key, Values] | None:
        parsed.append(line)
        name, _, value = line.decode().partition(" ")
        return (Key("target", "test", name), Values(int(value))) if name else None

    file.write_bytes(b"a 1\nb 2\n")
    driver = LinesDriver("test", str(file), parse)
    found = []
    for text in (b"a 1\nb 2\n", b"a 1\nb 5\n", b"a 1\nb 5\n", b"a 1\nc 3\nb 5\n"):
        file.write_bytes(text)
        found.append({key.name: values.bytes_read for key, values in driver.now().items()})
    driver.close()
    # A line more or less moves all others.
    assert found == [{"a": 1, "b": 2}, {"b": 5}, {}, {"a": 1, "b": 5, "c": 3}]
    assert parsed == [b"a 1", b"b 2", b"", b"b 5", b"a 1", b"c 3", b"b 5", b""]


def test_a_long_text_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "counters"
    file.write_bytes(b"x" * 200_000)
    driver = TextDriver(
        "test", str(file), lambda text: {Key("target", "test", "all"): Values(len(text))}
    )
    assert driver.now() == {Key("target", "test", "all"): Values(200_000)}
    assert driver.now() == {}
    driver.close()


class Lost:
    source = "test"

    def now(self) -> dict[Key, Values]:
        raise OSError("the mount is gone")

    def close(self) -> None:
        pass


class Known(Lost):
    def now(self) -> dict[Key, Values]:
        return {Key("target", "test", "known"): Values(1)}


def test_a_lost_part_does_not_take_the_others_along() -> None:
    assert ManyDriver("test", [Lost(), Known()]).now() == Known().now()


def test_a_slow_source_is_asked_beside_the_samples() -> None:
    asked = threading.Event()

    class Slow(Known):
        def now(self) -> dict[Key, Values]:
            assert asked.wait(10)
            return super().now()

    began_ns = time.monotonic_ns()
    driver = SlowDriver(Slow(), 1.0)
    assert driver.now() == {}
    asked.set()
    assert answered(driver) == Known().now()
    # A driver gives each answer once: what grows next has grown since the last one.
    since, at = driver.span_ns
    assert (since, driver.now()) == (0, {})
    assert began_ns < at <= time.monotonic_ns()
    assert answered(driver) == Known().now()
    assert driver.span_ns[0] == at
    driver.close()


def answered(driver: SlowDriver | StreamDriver) -> Mapping[Key, Values]:
    """Waits until a driver has an answer."""
    wait = threading.Event()
    for _ in range(500):
        if found := driver.now():
            return found
        wait.wait(0.02)
    raise AssertionError("no answer in 10 s")


def test_long_texts_are_read_once_a_second() -> None:
    times = iter((10 * SECOND_NS, 10 * SECOND_NS + 1, 12 * SECOND_NS))
    driver = SeldomDriver(Known(), lambda: next(times))
    assert (driver.now(), driver.span_ns) == (Known().now(), (0, 10 * SECOND_NS))
    assert driver.now() == {}
    assert (driver.now(), driver.span_ns) == (Known().now(), (10 * SECOND_NS, 12 * SECOND_NS))


def test_a_program_that_prints_each_second_has_complete_seconds(tmp_path: Path) -> None:
    script = tmp_path / "prints"
    texts = "".join(SECOND.format(second=second) for second in (7, 8))
    script.write_text(f"cat <<'END'\n{texts}END\nexec sleep 60\n")
    summed = beegfs.ServerTotals()
    driver = StreamDriver("beegfs", ["sh", str(script)], summed.add, summed.totals)
    found = answered(driver)
    # The second with number 8 goes on: its rows may be incomplete.
    assert found[Key("target", "beegfs", "store01")] == Values(0, 1 << 20, 12)
    driver.close()


def test_a_daemon_of_ceph_is_asked_over_its_socket(tmp_path: Path) -> None:
    path = tmp_path / "ceph-osd.7.asok"
    answer = json.dumps({"osd": {"op": 1, "op_in_bytes": 2, "op_out_bytes": 3}}).encode()
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(10)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(100))
                connection.sendall(struct.pack(">I", len(answer)) + answer)

        thread = threading.Thread(target=serve)
        thread.start()
        counted = DaemonDriver(str(path)).now()
        thread.join(10)
    assert asked == [b'{"prefix": "perf dump"}\0']
    assert counted == {Key("target", "ceph", "osd.7"): Values(3, 2, 1)}
