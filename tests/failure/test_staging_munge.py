"""Stagers that know their programs by MUNGE, with a munged of the test's own.

The other side of a connection is also played by this file, which has a second implementation of the
handshake, so that it can show what a program of Weir never does.
"""

from __future__ import annotations

import hmac
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from network_frames import frame, message, next_payload
from own_stager import STAGER, Stager, start_service
from staged_files import LOST_LINE, bytes_below, run, steps_in
from test_staging_service import KNOCK, PROVE, address_of, expect_one_line, file_of

MUNGED = shutil.which("munged", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
pytestmark = pytest.mark.skipif(MUNGED is None, reason="munged is not installed (Debian: munge)")

ANSWER_SECONDS = 30
NOBODY = 65534
VOUCH, REFUSED = 23, 25


class Munged:
    """A daemon with a socket and a key of its own."""

    def __init__(self) -> None:
        # All users have to reach the socket, and pytest's folders are closed to others.
        self.folder = Path(tempfile.mkdtemp(prefix="weir-test-munge-"))
        self.folder.chmod(0o755)
        self.socket = self.folder / "socket"
        key = self.folder / "key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        self.begin()

    def begin(self) -> None:
        """Returns when it answers."""
        assert MUNGED is not None
        files = {"key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        options = [f"--{option}={self.folder / name}" for option, name in files.items()]
        with (self.folder / "said").open("w") as said:
            self.process = subprocess.Popen(
                [MUNGED, "--foreground", *options, f"--socket={self.socket}", "--num-threads=2"],
                stdout=said, stderr=said,
            )  # fmt: skip
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self.socket.exists():
            assert self.process.poll() is None, (self.folder / "said").read_text()
            assert time.monotonic() < deadline, "munged does not start"
            time.sleep(0.01)
        self.credential(b"")

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(ANSWER_SECONDS)

    def remove(self) -> None:
        if self.process.poll() is None:
            self.end()
        shutil.rmtree(self.folder)

    def credential(self, payload: bytes, *words: str, user: int | None = None) -> bytes:
        """What munged makes for this user, by MUNGE's own program."""
        made = subprocess.run(
            ["munge", f"--socket={self.socket}", *words],
            input=payload, user=user, capture_output=True, timeout=ANSWER_SECONDS, check=True,
        )  # fmt: skip
        return made.stdout.strip()

    def open(self, credential: bytes) -> tuple[int, bytes]:
        """Whose it is, and its payload."""
        with tempfile.NamedTemporaryFile() as payload:
            opened = subprocess.run(
                ["unmunge", f"--socket={self.socket}", "--keys=UID", "--numeric",
                 f"--output={payload.name}"],
                input=credential, capture_output=True, timeout=ANSWER_SECONDS, check=True,
            )  # fmt: skip
            return int(opened.stdout.split()[-1]), Path(payload.name).read_bytes()


@pytest.fixture
def munged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Munged]:
    one = Munged()
    monkeypatch.setenv("WEIR_MUNGE_SOCKET", str(one.socket))
    yield one
    one.remove()


@pytest.fixture
def service(munged: Munged) -> Iterator[Stager]:
    one = start_service(1, "--stager-memory", "64m", "--stager-auth", "munge")
    one.more["WEIR_MUNGE_SOCKET"] = str(munged.socket)
    yield one
    one.kill()


def refusals(service: Stager) -> list[str]:
    return [line for line in service.log().splitlines() if "was refused" in line]


class Client:
    """A connection that has knocked, and what has to be shown on it."""

    def __init__(self, service: Stager) -> None:
        key = bytes.fromhex(file_of(service).read_text().split()[4])
        own = os.urandom(16)
        self.connection = socket.create_connection(address_of(service), ANSWER_SECONDS)
        self.connection.sendall(frame(0, message(KNOCK, own)))
        self.received = 0
        _, fields = self.answer()
        both = own + fields[:16]
        self.proof = hmac.digest(key, b"weir rank " + both, "sha256")
        self.proof_of_stager = hmac.digest(key, b"weir stager " + both, "sha256")
        assert fields[16:] == self.proof_of_stager

    def exactly(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            some = self.connection.recv(count - len(got))
            assert some, "the stager has ended the connection"
            got += some
        return got

    def answer(self) -> tuple[int, bytes]:
        """The kind of the next message, and its fields."""
        text = next_payload(self.received, self.exactly)
        self.received += 1
        return struct.unpack_from("<H", text)[0], text[4:]

    def prove(self, shown: bytes) -> None:
        proof = message(PROVE, struct.pack("<Q", len(shown)) + shown)
        self.connection.sendall(frame(1, proof))

    def show(self, shown: bytes) -> tuple[int, bytes]:
        """Returns the kind of the answer, and its text."""
        with self.connection:
            self.prove(shown)
            kind, fields = self.answer()
            return kind, fields[8:]


def test_programs_of_the_user_are_served_without_a_secret_file(
    tmp_path: Path, service: Stager
) -> None:
    assert stat.S_IMODE(file_of(service).stat().st_mode) == 0o644
    assert file_of(service).read_text().split()[3] == "munge"
    ended = run(service, "equal", tmp_path, "zarr", "crc32c", ranks=2)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    service.wait_until_stored()
    assert not file_of(service).exists()
    assert steps_in(tmp_path / "node.zarr") == 3
    assert bytes_below(tmp_path / "none.zarr") == bytes_below(tmp_path / "node.zarr")
    assert refusals(service) == []


def test_several_stagers_serve_a_program_that_goes_on_without_one(
    tmp_path: Path, munged: Munged
) -> None:
    both = start_service(2, "--stager-memory", "64m", "--stager-auth", "munge")
    both.more["WEIR_MUNGE_SOCKET"] = str(munged.socket)
    try:
        victim = str(both.others[0].pid)
        ended = run(both, "goes_on", tmp_path, "hdf5", "5", "in_a_step", victim)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert ended.stderr.count(LOST_LINE) == 1, ended.stderr
        assert steps_in(tmp_path / "out.h5") == 5
    finally:
        both.kill()


def test_the_stager_shows_who_it_is(munged: Munged, service: Stager) -> None:
    one = Client(service)
    kind, vouch = one.show(munged.credential(one.proof))
    assert kind == VOUCH
    assert munged.open(vouch) == (os.geteuid(), one.proof_of_stager)


def replayed(munged: Munged, service: Stager) -> tuple[int, bytes]:
    """Somebody who has seen what a rank has shown."""
    one = Client(service)
    seen = munged.credential(one.proof)
    assert one.show(seen)[0] == VOUCH
    return Client(service).show(seen)


def expired(munged: Munged, service: Stager) -> tuple[int, bytes]:
    one = Client(service)
    credential = munged.credential(one.proof, "--ttl=1")
    time.sleep(2.1)  # MUNGE counts whole seconds
    return one.show(credential)


def of_another_user(munged: Munged, service: Stager) -> tuple[int, bytes]:
    if os.geteuid() != 0:
        pytest.skip("only root may be another user")
    one = Client(service)
    return one.show(munged.credential(one.proof, user=NOBODY))


def changed(munged: Munged, service: Stager) -> tuple[int, bytes]:
    one = Client(service)
    credential = bytearray(munged.credential(one.proof))
    middle = len(credential) // 2
    credential[middle] = ord("A") if credential[middle] != ord("A") else ord("B")
    return one.show(bytes(credential))


def for_another_connection(munged: Munged, service: Stager) -> tuple[int, bytes]:
    other = Client(service)
    other.connection.close()
    return Client(service).show(munged.credential(other.proof))


def of_the_stagers_side(munged: Munged, service: Stager) -> tuple[int, bytes]:
    one = Client(service)
    return one.show(munged.credential(one.proof_of_stager))


def with_another_key(_: Munged, service: Stager) -> tuple[int, bytes]:
    other = Munged()
    one = Client(service)
    try:
        return one.show(other.credential(one.proof))
    finally:
        other.remove()


def the_proof_alone(_: Munged, service: Stager) -> tuple[int, bytes]:
    one = Client(service)
    return one.show(bytes(byte or 1 for byte in one.proof))


def too_long(_: Munged, service: Stager) -> tuple[int, bytes]:
    return Client(service).show(b"MUNGE:" + b"A" * 4091)


@pytest.mark.parametrize(
    ("show", "why"),
    [
        (replayed, "Replayed credential): it was shown before"),
        (expired, "Expired credential): it is too old"),
        (of_another_user, f"credential of user {NOBODY} was shown, where one of user"),
        (changed, "MUNGE refuses the credential"),
        (for_another_connection, "made for something else"),
        (of_the_stagers_side, "made for something else"),
        (with_another_key, "different keys of MUNGE"),
        (the_proof_alone, "MUNGE refuses the credential"),
        (too_long, "longer than 4096"),
    ],
)
def test_what_shows_nothing_is_refused_in_a_line(
    munged: Munged, service: Stager, show: Callable[[Munged, Stager], tuple[int, bytes]], why: str
) -> None:
    kind, reason = show(munged, service)
    assert kind == REFUSED
    assert why in reason.decode()
    (line,) = refusals(service)
    assert why in line
    assert "127.0.0.1:" in line
    assert service.report()["sessions"] == []
    one = Client(service)
    assert one.show(munged.credential(one.proof))[0] == VOUCH


def test_a_program_with_another_key_is_told_in_a_line(tmp_path: Path, service: Stager) -> None:
    other = Munged()
    try:
        service.more["WEIR_MUNGE_SOCKET"] = str(other.socket)
        expect_one_line(service, tmp_path, "refused: MUNGE refuses the credential")
    finally:
        other.remove()
    assert refusals(service)


def test_a_program_of_another_user_is_told_in_a_line(service: Stager) -> None:
    """The program has its own copy of the rendezvous file, since it may read it."""
    if os.geteuid() != 0:
        pytest.skip("only root may be another user")
    folder = Path(tempfile.mkdtemp(prefix="weir-test-"))
    copied = folder / "rendezvous"
    shutil.copy(file_of(service), copied)
    for one in (folder, copied):
        os.chown(one, NOBODY, NOBODY)
    service.more["WEIR_TEST_STAGING"] = f"service:{copied}"
    ended = run(service, "of_another_user", folder, "raw", str(NOBODY), ranks=1)
    assert ended.returncode != 0
    why = f"a MUNGE credential of user {NOBODY} was shown, where one of user 0 is needed"
    assert f" refused: {why}" in ended.stderr
    (line,) = refusals(service)
    assert line.endswith(why)
    assert [path.name for path in folder.iterdir()] == ["rendezvous"]
    shutil.rmtree(folder)


def test_a_program_without_munged_is_told_in_a_line(tmp_path: Path, service: Stager) -> None:
    service.more["WEIR_MUNGE_SOCKET"] = str(tmp_path.parent / "none")
    expect_one_line(service, tmp_path, "start munged there, or name its socket")
    assert refusals(service) == []


def test_a_stager_without_munged_does_not_start(tmp_path: Path, munged: Munged) -> None:
    munged.end()
    folder = Path(tempfile.mkdtemp(prefix="weir-test-"))
    ended = subprocess.run(
        [STAGER, "--detach", "--stager-socket", folder / "stager", "--stager-auth", "munge",
         "--stager-listen", "127.0.0.1", "--stager-rendezvous", tmp_path / "file"],
        capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "MUNGE does not answer on" in line
    assert "start munged there" in line
    assert not list(tmp_path.iterdir())


def test_munged_that_ends_and_starts_again_is_found(munged: Munged, service: Stager) -> None:
    munged.end()
    kind, reason = Client(service).show(b"MUNGE:AAAA:")
    assert kind == REFUSED
    assert "MUNGE does not answer on" in reason.decode()
    munged.begin()
    one = Client(service)
    assert one.show(munged.credential(one.proof))[0] == VOUCH


def test_munged_that_hangs_holds_up_nothing_else(munged: Munged, service: Stager) -> None:
    """MUNGE's library gives it 10 s; the stager answers others meanwhile."""
    one = Client(service)
    credential = munged.credential(one.proof)
    munged.process.send_signal(signal.SIGSTOP)
    try:
        one.prove(credential)
        assert service.report()["sessions"] == []
        Client(service).connection.close()
        kind, fields = one.answer()
        one.connection.close()
        assert kind == REFUSED
        assert "MUNGE does not answer on" in fields[8:].decode()
    finally:
        munged.process.send_signal(signal.SIGCONT)
    one = Client(service)
    assert one.show(munged.credential(one.proof))[0] == VOUCH
