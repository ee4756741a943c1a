"""Stagers that are reached over a network: who is served, and what strangers may send."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from damaging_proxy import Damage, DamagingProxy, flipped
from network_frames import HEAD_BYTES, frame, message
from own_stager import STAGER, Stager, reason_without_ucx, start, start_service
from staged_files import LOST_LINE, RUN_SECONDS, bytes_below, run, steps_in
from staged_values import density

import weir

LONGEST_ANSWER_SECONDS = 30


@pytest.fixture
def service() -> Iterator[Stager]:
    one = start_service(1, "--stager-memory", "64m")
    yield one
    one.kill()


@pytest.fixture
def over_ucx() -> Iterator[Stager]:
    if reason := reason_without_ucx():
        pytest.skip(reason)
    one = start_service(1, "--stager-memory", "64m", "--stager-carrier", "ucx")
    yield one
    one.kill()


def file_of(service: Stager) -> Path:
    assert service.rendezvous is not None
    return service.rendezvous / "0"


def address_of(service: Stager) -> tuple[str, int]:
    host, _, port = file_of(service).read_text().split()[2].rpartition(":")
    return host, int(port)


def expect_one_line(service: Stager, folder: Path, part: str) -> None:
    """The session is refused with a line that has this part, and nothing is written."""
    ended = run(service, "many", folder, "raw", "1", ranks=2)
    assert ended.returncode != 0
    lines = [line for line in ended.stderr.splitlines() if part in line]
    assert lines, ended.stderr
    assert not list(folder.iterdir())


def test_only_the_user_may_read_the_secret(tmp_path: Path, service: Stager) -> None:
    assert stat.S_IMODE(file_of(service).stat().st_mode) == 0o600
    file_of(service).chmod(0o644)
    expect_one_line(service, tmp_path, "must belong to you alone")


def test_the_file_goes_with_the_stager(service: Stager) -> None:
    assert file_of(service).exists()
    service.wait_until_stored()
    assert not file_of(service).exists()


def with_another_secret(line: str) -> str:
    return line[:-3] + ("00\n" if line[-3:-1] != "00" else "11\n")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (with_another_secret, "the rendezvous file is stale"),
        (lambda line: line.replace(line.split()[1], "3", 1), "another version of Weir"),
        (lambda _: "hello\n", "no rendezvous file"),
        (lambda line: line[:40], "is damaged"),
        (lambda _: "", "has not begun to listen"),
    ],
    ids=["wrong secret", "older version", "another file", "cut", "empty"],
)
def test_a_file_that_is_wrong_is_one_line(
    tmp_path: Path, service: Stager, change: Callable[[str], str], part: str
) -> None:
    file_of(service).write_text(change(file_of(service).read_text()))
    expect_one_line(service, tmp_path, part)


def test_a_file_without_a_stager_is_one_line(tmp_path: Path, service: Stager) -> None:
    service.kill()
    expect_one_line(service, tmp_path, "its rendezvous file is stale")
    file_of(service).unlink()
    expect_one_line(service, tmp_path, "no stager has written a rendezvous file")
    assert service.rendezvous is not None
    service.rendezvous = service.rendezvous / "nothing"
    expect_one_line(service, tmp_path, "the rendezvous file does not exist")


def test_somebody_else_at_the_address_is_one_line(tmp_path: Path, service: Stager) -> None:
    text = file_of(service).read_text()
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor() as threads:
        other.settimeout(LONGEST_ANSWER_SECONDS)

        def send_ranks_away() -> None:
            for _ in range(2):
                connection, _ = other.accept()
                with connection:
                    # What was not read when it is closed would reset the connection at once.
                    connection.recv(1 << 16)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 16):
                        pass

        file_of(service).write_text(
            text.replace(text.split()[2], f"127.0.0.1:{other.getsockname()[1]}")
        )
        sent_away = threads.submit(send_ranks_away)
        expect_one_line(service, tmp_path, "no message of Weir")
        sent_away.result()


def test_programs_write_at_once_and_apart(tmp_path: Path, service: Stager) -> None:
    folders = [tmp_path / f"weir-{number}" for number in range(3)]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor() as threads:
        runs = [
            threads.submit(run, service, "equal", folder, "zarr", "crc32c", ranks=2)
            for folder in folders
        ]
        for ended in [one.result() for one in runs]:
            assert ended.returncode == 0, ended.stdout + ended.stderr
    service.wait_until_stored()
    for folder in folders:
        assert steps_in(folder / "node.zarr") == 3
        assert bytes_below(folder / "none.zarr") == bytes_below(folder / "node.zarr")


def test_a_second_program_is_refused_the_file_of_the_first(tmp_path: Path, service: Stager) -> None:
    """The stager holds the lock, in the name of the program."""
    lock = tmp_path / "out.raw.weir_lock"
    with ThreadPoolExecutor() as threads:
        first = threads.submit(run, service, "held", tmp_path, "raw", ranks=1)
        end = time.monotonic() + RUN_SECONDS
        while not lock.exists() or not lock.read_text():
            assert time.monotonic() < end
            assert not first.done()
            time.sleep(0.005)
        holder = lock.read_text().strip()
        second = run(service, "many", tmp_path, "raw", "1", ranks=1)
        (tmp_path / "go").touch()
        ended = first.result()
    assert second.returncode != 0
    assert f"{holder} is writing it" in second.stderr, second.stderr
    assert ended.returncode == 0, ended.stdout + ended.stderr
    service.wait_until_stored()
    assert steps_in(tmp_path / "out.raw") == 1
    assert not lock.exists()


def listens_at(process: int) -> list[str]:
    """The ports of a process."""
    told = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    return [line.split()[3] for line in told.splitlines() if f"pid={process}," in line]


def carriers_of_a_program(service: Stager, folder: Path) -> list[str]:
    """What has brought the bytes of a step, while its program still runs."""
    folder.mkdir()
    with ThreadPoolExecutor() as threads:
        program = threads.submit(run, service, "held", folder, "raw", ranks=1)
        end = time.monotonic() + RUN_SECONDS
        carriers: list[str] = []
        while not carriers:
            assert time.monotonic() < end
            assert not program.done(), program.result().stderr
            carriers = [name for one in service.report()["sessions"] for name in one["carriers"]]
            time.sleep(0.02)
        (folder / "go").touch()
        ended = program.result()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "UCX" not in ended.stdout + ended.stderr
    return carriers


def test_ucx_brings_the_same_bytes_where_both_sides_want_it(
    tmp_path: Path, over_ucx: Stager
) -> None:
    assert listens_at(over_ucx.pid) == ["{}:{}".format(*address_of(over_ucx))]
    ended = run(over_ucx, "equal", tmp_path, "zarr", "crc32c", ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert carriers_of_a_program(over_ucx, tmp_path / "ucx") == ["UCX"]
    over_ucx.more["WEIR_STAGING_CARRIER"] = "tcp"
    assert carriers_of_a_program(over_ucx, tmp_path / "tcp") == ["TCP"]
    (tmp_path / "none").mkdir()
    over_ucx.more["WEIR_STAGING_CARRIER"] = "rdma"
    expect_one_line(over_ucx, tmp_path / "none", "give one of tcp, ucx")
    over_ucx.wait_until_stored()
    assert bytes_below(tmp_path / "none.zarr") == bytes_below(tmp_path / "node.zarr")
    assert steps_in(tmp_path / "ucx" / "out.raw") == 1
    assert "UCX" not in over_ucx.log()


def test_a_rank_that_is_killed_leaves_a_stager_that_goes_on(
    tmp_path: Path, over_ucx: Stager
) -> None:
    """What it had handed over is stored, and others are served over UCX as before."""
    assert run(over_ucx, "alone_dies", tmp_path, "raw").returncode != 0
    over_ucx.wait_until_idle()
    assert carriers_of_a_program(over_ucx, tmp_path / "next") == ["UCX"]
    over_ucx.wait_until_stored()
    with weir.open(tmp_path / "out.raw") as file:
        assert (file[next(iter(file.keys()))][...] == density(4)).all()


KNOCK, PROVE, HELLO, BLOCK_BYTES, FLUSH, STOP, FLUSHED = 0, 1, 2, 6, 9, 21, 29
PROOF = struct.pack("<Q", 32) + bytes(32)


def conversation(*messages: bytes) -> bytes:
    """Messages as one connection sends them."""
    return b"".join(frame(number, one) for number, one in enumerate(messages))


STRANGE = {
    "no message": b"GET / HTTP/1.1\r\n\r\n",
    "too long": frame(0, b"", claimed=65537),
    "an open file": frame(0, b"", files=1),
    "cut": conversation(message(KNOCK, b"x" * 15)),
    "longer than its fields": conversation(message(KNOCK, b"x" * 17)),
    "another version": conversation(message(KNOCK, b"x" * 16, version=4)),
    "no kind": conversation(message(60000)),
    "a rank without proof": conversation(
        message(HELLO, bytes(16 + 4) + struct.pack("<Q", 1) + b"p")
    ),
    "stop": conversation(message(STOP)),
    "a proof before the challenge": conversation(message(PROVE, PROOF)),
    "a wrong proof": conversation(message(KNOCK, bytes(16)), message(PROVE, PROOF)),
    "a proof of no bytes": conversation(message(KNOCK, bytes(16)), message(PROVE, bytes(8))),
    "more while the proof is checked": conversation(
        message(KNOCK, bytes(16)), message(PROVE, PROOF), message(PROVE, PROOF)
    ),
    "two knocks": conversation(message(KNOCK, bytes(16)), message(KNOCK, bytes(16))),
    "a text that is longer than the message": conversation(
        message(HELLO, bytes(16 + 4) + b"\xff" * 8)
    ),
    "a damaged message": conversation(message(KNOCK, bytes(16)))[:-1] + b"\x01",
    "a message twice": frame(0, message(KNOCK, bytes(16))) * 2,
}


DAMAGED = r"bytes were damaged on the way \({}\): check the network"
SENT_AWAY = r"rank \d of .+ is sent away by the stager on \S+: " + DAMAGED
CANNOT_READ = r"rank \d cannot read what the stager at \S+ sent: " + DAMAGED


SUM = "the CRC-32C of a message differs"


@pytest.mark.parametrize(
    ("kind", "damage", "line", "what"),
    [
        (
            BLOCK_BYTES,
            lambda one: flipped(one, -100),
            SENT_AWAY,
            "the CRC-32C of a message differs",
        ),
        (BLOCK_BYTES, lambda one: flipped(one, 9), SENT_AWAY, "the CRC-32C of a message's head .+"),
        (FLUSH, lambda one: one * 2, SENT_AWAY, r"message \d+ came in place of .+ or doubled"),
        (FLUSHED, lambda one: flipped(one, -1), CANNOT_READ, SUM),
    ],
    ids=["bytes", "length", "doubled", "answer"],
)
def test_a_message_that_the_network_damages_ends_the_session_by_name(
    tmp_path: Path, service: Stager, kind: int, damage: Damage, line: str, what: str
) -> None:
    """The program and the stager's log say so, and the steps that were accepted are whole."""
    proxy = DamagingProxy(address_of(service), kind, damage, tmp_path / "damage")
    text = file_of(service).read_text()
    file_of(service).write_text(text.replace(text.split()[2], proxy.address))
    try:
        ended = run(service, "is_damaged", tmp_path, "raw", ranks=2)
    finally:
        proxy.end()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert proxy.damaged == 1
    assert len(re.findall(line.format(what), ended.stdout)) == 2, ended.stdout
    service.wait_until_idle()
    assert len(re.findall(line.format(what), service.log())) == 1, service.log()
    assert steps_in(tmp_path / "out.raw", with_remains=True) == 2


def said_before_the_end(address: tuple[str, int], sent: bytes) -> bytes:
    """What the stager answers until it ends the connection."""
    with socket.create_connection(address, LONGEST_ANSWER_SECONDS) as stranger:
        stranger.sendall(sent)
        said = b""
        try:
            while some := stranger.recv(4096):
                said += some
        except ConnectionResetError:
            pass
        return said


@pytest.mark.parametrize("sent", STRANGE.values(), ids=STRANGE)
def test_what_strangers_send_ends_their_connection_alone(
    tmp_path: Path, service: Stager, sent: bytes
) -> None:
    """Those who know the secret are served as before."""
    said = said_before_the_end(address_of(service), sent)
    assert bytes.fromhex(file_of(service).read_text().split()[4]) not in said
    assert service.report()["sessions"] == []
    assert run(service, "many", tmp_path, "raw", "2", ranks=1).returncode == 0
    service.wait_until_stored()
    assert steps_in(tmp_path / "out.raw") == 2


def test_random_bytes_do_no_harm(tmp_path: Path, service: Stager) -> None:
    random = np.random.default_rng(1)
    seeds = [one for one in STRANGE.values() if len(one) > HEAD_BYTES]
    for _ in range(300):
        sent = bytearray(seeds[random.integers(len(seeds))][HEAD_BYTES:])
        for at in random.integers(len(sent), size=2):
            sent[at] = random.integers(256)
        with socket.create_connection(address_of(service)) as stranger:
            stranger.sendall(frame(0, bytes(sent)))
    assert run(service, "many", tmp_path, "raw", "2", ranks=2).returncode == 0


@pytest.mark.parametrize(
    ("lost", "carrier"), [("fail", "tcp"), ("direct", "tcp"), ("direct", "ucx")]
)
def test_one_killed_stager_of_a_service_is_a_lost_stager(
    tmp_path: Path, lost: str, carrier: str
) -> None:
    if carrier == "ucx" and (reason := reason_without_ucx()):
        pytest.skip(reason)
    both = start_service(2, "--stager-memory", "64m", "--stager-carrier", carrier)
    victim = str(both.others[0].pid)
    try:
        if lost == "direct":
            ended = run(both, "goes_on", tmp_path, "hdf5", "5", "in_a_step", victim)
            assert ended.returncode == 0, ended.stdout + ended.stderr
            assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
            assert steps_in(tmp_path / "out.h5") == 5
        else:
            ended = run(both, "stager_dies", tmp_path, "hdf5", victim)
            assert "refused" in ended.stdout, ended.stdout + ended.stderr
            assert steps_in(tmp_path / "out.h5", with_remains=True) == 1
    finally:
        both.kill()


def test_a_stager_listens_where_it_is_told_alone(service: Stager) -> None:
    assert listens_at(service.pid) == ["{}:{}".format(*address_of(service))]
    one = start("--stager-listen", "127.0.0.1")
    try:
        assert listens_at(one.pid) == []
    finally:
        one.kill()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--stager-rendezvous", "F"], "give the address"),
        (["--stager-rendezvous", "F", "--stager-listen", "192.0.2.200"], "no address of this node"),
        (["--stager-rendezvous", "F", "--stager-listen", "node1"], "no numeric address"),
        (["--stager-rendezvous", "/no/F", "--stager-listen", "127.0.0.1"], "open failed"),
        (["--stager-carrier", "ucx"], "give one with --rendezvous"),
        (["--stager-carrier", "rdma"], "tcp, ucx"),
        (["--stager-auth", "munge"], "give one with --rendezvous"),
        (["--stager-auth", "kerberos"], "cookie, munge"),
    ],
    ids=[
        "no address",
        "address of another node",
        "a name",
        "no folder",
        "no file",
        "a carrier",
        "MUNGE without a file",
        "another way",
    ],
)
def test_an_impossible_service_is_refused(tmp_path: Path, words: list[str], part: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="weir-test-"))
    ended = subprocess.run(
        [STAGER, "--stager-socket", folder / "stager", *words], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=LONGEST_ANSWER_SECONDS,
    )  # fmt: skip
    assert ended.returncode in {1, 2}
    assert part in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_signal_lets_the_service_end(service: Stager) -> None:
    os.kill(service.pid, signal.SIGTERM)
    service.wait_for_its_end()
    assert not file_of(service).exists()
