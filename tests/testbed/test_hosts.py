"""Links are as fast as they were asked to be, and MPI tells the hosts apart."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.hosts import HOSTS_FILES, Host
from testbed_calls import (
    PROGRAM,
    WEIR_BENCH,
    MakeHosts,
    call,
    call_json,
    kill_up,
    launcher,
    switch_traffic,
)
from testbed_traces import machine_state
from testbed_transfers import expect_limits

SECONDS = 2.0
TCP_PAYLOAD = 1448 / 1514
"""Share of a full frame beside the headers of Ethernet, IP and TCP with time stamps."""

RECEIVE = """
import socket, sys, time
SKIPPED = 0.3  # the bucket is full at first, and TCP finds its window
with socket.create_server(("", 5001)) as server:
    server.settimeout(20)
    print("ready", flush=True)
    connection, _ = server.accept()
    connection.settimeout(20)
    first, start, total = time.monotonic(), None, 0
    while piece := connection.recv(1 << 20):
        now = time.monotonic()
        if start is not None:
            total += len(piece)
        elif now - first > SKIPPED:
            start = now
print(total / (now - start))
"""

SEND = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 5001), timeout=20) as connection:
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        connection.sendall(bytes(1 << 16))
"""


def payload_rate(sender: Host, receiver: Host) -> float:
    """Bits per second of payload over one TCP connection."""

    def on(host: Host, program: str, *words: str) -> list[str]:
        run = [str(PROGRAM), "hosts", "run", host.name, "--"]
        return [*run, sys.executable, "-c", program, *words]

    with subprocess.Popen(on(receiver, RECEIVE), stdout=subprocess.PIPE, text=True) as receiving:
        assert receiving.stdout is not None
        assert receiving.stdout.readline() == "ready\n"
        sending = on(sender, SEND, receiver.name, str(SECONDS))
        subprocess.run(sending, check=True, timeout=60)
        return 8 * float(receiving.communicate(timeout=60)[0])


@pytest.mark.alone
def test_links_have_their_rates(hosts: MakeHosts) -> None:
    made = hosts(3, "1gbit,1gbit,100mbit")
    assert [host.link for host in made] == [10**9, 10**9, 10**8]
    # The slow end limits in both directions.
    ends = [(made[1], made[0]), (made[2], made[0]), (made[0], made[2])]
    limits = [rate * TCP_PAYLOAD for rate in (1e9, 1e8, 1e8)]
    expect_limits(lambda: [payload_rate(*both) for both in ends], limits)


@pytest.mark.alone
def test_a_link_can_be_slowed_while_it_is_up(hosts: MakeHosts) -> None:
    first, second = hosts(2, "1gbit")
    call("hosts", "set", second.name, "--link", "50mbit")
    expect_limits(lambda: [payload_rate(first, second)], [50e6 * TCP_PAYLOAD])
    assert call_json("status", "--json")["hosts"]["hosts"][1]["link"] == 50 * 10**6


@pytest.mark.alone
def test_switches_are_joined_by_links_of_their_rate(hosts: MakeHosts) -> None:
    made = hosts(4, "500mbit", options="--switches 2 --between 50mbit")
    assert [host.switch for host in made] == [0, 0, 1, 1]
    call("hosts", "set", "switch1", "--link", "100mbit")
    call("hosts", "set", "switch0", "--link", "100mbit")
    expect_limits(
        lambda: [payload_rate(made[0], made[2]), payload_rate(made[3], made[1])],
        [1e8 * TCP_PAYLOAD, 1e8 * TCP_PAYLOAD],
    )
    before = switch_traffic()
    payload_rate(made[0], made[1])
    inside = switch_traffic()
    payload_rate(made[0], made[2])
    across = switch_traffic()
    assert inside["switch0"] - before["switch0"] < 1 << 20
    assert across["switch0"] - inside["switch0"] > 10 << 20


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--switches 3 --between 50mbit", "give a number that divides the 4 hosts"),
        ("--switches 2", "give both or neither"),
        ("--between 50mbit", "give both or neither"),
        ("--switches 2 --between 50mbit,50mbit,50mbit", "lists 3 rates for 2 switches"),
    ],
)
@pytest.mark.usefixtures("testbed")
def test_switches_that_do_not_fit_the_hosts_are_refused(options: str, said: str) -> None:
    assert said in call("hosts", "up", "--count", "4", *options.split(), status=2).stderr


def test_hosts_have_names_and_see_the_same_files(hosts: MakeHosts, tmp_path: Path) -> None:
    made = hosts(2)
    (tmp_path / "file").write_text("seen")
    for host in made:
        command = f"hostname; getent hosts {made[0].name}; cat {tmp_path}/file"
        said = call("hosts", "run", host.name, "--", "sh", "-c", command).stdout.split()
        assert said == [host.name, made[0].address, made[0].name, "seen"]


@pytest.mark.skipif(not WEIR_BENCH.exists(), reason=f"{WEIR_BENCH} is not built")
@pytest.mark.parametrize(("count", "ranks"), [(2, 4), (4, 4)])
def test_weir_bench_tells_the_hosts_apart(
    hosts: MakeHosts, tmp_path: Path, count: int, ranks: int
) -> None:
    made = hosts(count)
    # The kernel shows a host this file in place of /etc/os-release.
    release = HOSTS_FILES / made[-1].name / "os-release"
    release.write_text('PRETTY_NAME="Made up 99"\n')
    workload = "madbench 100 2 1 1 4096 1 1 --iomethod POSIX --filetype UNIQUE"
    repetitions = ["--repetitions", "1", "--max-repetitions", "1"]
    folders = ["--directory", str(tmp_path), "--output", str(tmp_path / "results")]
    done = subprocess.run(
        [*launcher(ranks), str(WEIR_BENCH), *workload.split(), *repetitions, *folders],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    release.unlink()
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "results").rglob("run.json")
    record = json.loads(file.read_text())
    per_host = ranks // count
    assert {node["host"]: node["ranks"] for node in record["nodes"]} == {
        host.name: list(range(number * per_host, (number + 1) * per_host))
        for number, host in enumerate(made)
    }
    described = record["environment"]["nodes"]
    assert (described["described"], described["alike"], described["unlisted"]) == (
        count, count - 1, 0
    )  # fmt: skip
    (kind,) = described["kinds"]
    assert kind["places"] == [[count - 1, count - 1]]
    assert kind["differences"] == {"system_software": {"distribution": "Made up 99"}}


def test_ranks_are_distributed_in_equal_blocks(hosts: MakeHosts) -> None:
    made = hosts(4)
    # Where a program ends at once, the launcher of Open MPI 5 sometimes waits for it for ever.
    words = ["--tag-output", "sh", "-c", "hostname; sleep 1"]
    done = subprocess.run(
        [*launcher(8), *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = (line.split("<stdout>:") for line in done.stdout.splitlines())
    said = {tag: host.strip() for tag, host in lines}
    rank_of = {tag: int(tag.split(",")[1].rstrip("]")) for tag in said}
    by_rank = [said[tag] for tag in sorted(said, key=rank_of.__getitem__)]
    assert by_rank == [host.name for host in made for _ in range(2)]


@pytest.mark.parametrize("delay", [0.15, 0.25, 0.35])
def test_down_after_up_was_killed(hosts: MakeHosts, delay: float) -> None:
    before = machine_state()
    hosts(1)  # skips where hosts cannot be
    call("hosts", "down")
    assert machine_state() == before
    kill_up(delay, "hosts", "up", "--count", "12")
    assert machine_state() == before


def test_down_without_the_journal_ends_what_runs_on_hosts(hosts: MakeHosts) -> None:
    before = machine_state()
    made = hosts(3)
    Path("/run/weir-testbed/journal.json").unlink()
    enter = ["/run/weir-testbed/enter", made[1].name, "sleep", "100"]
    with subprocess.Popen(enter) as sleeping:
        time.sleep(0.5)
        call("down")
    assert sleeping.returncode == -signal.SIGTERM
    assert machine_state() == before
