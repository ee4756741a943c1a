"""Writes files that start programs on hosts, and with which Open MPI starts ranks on several hosts.

``enter HOST COMMAND``  runs a command on a host: in its network, under its name, and, if the file
                        system of ``locks.py`` is up, with its own client of that file system.
``agent HOST WORDS``    serves Open MPI instead of ssh.
``hosts.env``           has the environment that Open MPI needs for these hosts, to be sourced.
``mpirun OPTIONS``      starts mpirun with that environment on the first host. mpirun opens
                        connections to its ranks, so it must itself be on the hosts' network.
"""

from __future__ import annotations

from pathlib import Path

from testbed.journal import FOLDER, Journal, Resource
from testbed.locks import CLIENTS, OWN

ENTER = FOLDER / "enter"
AGENT = FOLDER / "agent"
HOST_FILE = FOLDER / "hostfile"
ENVIRONMENT = FOLDER / "hosts.env"
MPIRUN = FOLDER / "mpirun"
FILES = (ENTER, AGENT, HOST_FILE, ENVIRONMENT, MPIRUN)

ENTER_TEXT = f"""#!/bin/sh
# enter HOST COMMAND [WORD...]: runs the command on a host of the test bed.
host=$1
shift
script='hostname "$0" || exit; client=$1; shift
[ -z "$client" ] || mount --bind "$client" {OWN} || exit; exec "$@"'
client=
set_client() {{ client={CLIENTS}/client$((${{host#weir-host}} % $#)); }}
[ ! -d {CLIENTS}/client0 ] || set_client {CLIENTS}/client*
# ip netns exec gives each command a mount namespace of its own.
exec ip netns exec "$host" unshare --uts sh -c "$script" "$host" "$client" "$@"
"""

AGENT_TEXT = f"""#!/bin/sh
# agent HOST WORD...: as ssh does, joins the words and gives them to a shell on the host.
host=$1
shift
exec {ENTER} "$host" sh -c "$*"
"""

MCA = {
    "plm_rsh_agent": str(AGENT),
    "plm_rsh_no_tree_spawn": "1",
    "orte_default_hostfile": str(HOST_FILE),
    "pml": "ob1",
    "btl": "tcp,vader,self",
    "btl_tcp_if_include": "eth0",
    "oob_tcp_if_include": "eth0",
    "hwloc_base_binding_policy": "none",
    "rmaps_base_oversubscribe": "1",
    "mpi_yield_when_idle": "1",
}
"""Open MPI's parameters; the last three are needed because all hosts share the processors."""

PRTE_MCA = {
    "plm_ssh_agent": str(AGENT),
    "plm_ssh_no_tree_spawn": "1",
    "prte_default_hostfile": str(HOST_FILE),
    "prte_if_include": "eth0",
    "hwloc_default_binding_policy": "none",
    "rmaps_default_mapping_policy": ":oversubscribe",
}
"""Parameters of the launcher of Open MPI 5 that correspond to these."""


def write_launcher(journal: Journal, part: str, hosts: list[str]) -> None:
    """Writes the files for these hosts."""
    settings = {f"OMPI_MCA_{name}": value for name, value in MCA.items()}
    settings |= {f"PRTE_MCA_{name}": value for name, value in PRTE_MCA.items()}
    settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    exports = "".join(f"export {name}={value}\n" for name, value in settings.items())
    mpirun = f'#!/bin/sh\n. {ENVIRONMENT}\nexec {ENTER} {hosts[0]} mpirun "$@"\n'
    contents = {
        ENTER: ENTER_TEXT,
        AGENT: AGENT_TEXT,
        HOST_FILE: "".join(f"{host} slots=1\n" for host in hosts),
        ENVIRONMENT: exports,
        MPIRUN: mpirun,
    }
    for path, text in contents.items():
        journal.enter(part, Resource("file", str(path)))
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def launcher(hosts: int, ranks: int) -> list[str]:
    """Returns the words that start `ranks` ranks, distributed to the hosts in equal blocks."""
    per_host = -(-ranks // hosts)
    return [str(MPIRUN), "-n", str(ranks), "--map-by", f"ppr:{per_host}:node"]


def entering(host: str, command: list[str]) -> list[str | Path]:
    """Returns the words that run a command on a host."""
    return [ENTER, host, *command]
