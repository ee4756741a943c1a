"""``python -m weir.monitor INTERVAL FILE``: records until standard input ends, or a signal comes.

``weir bench --monitor`` starts it so. Where weir is killed, standard input ends too.
"""

from __future__ import annotations

import select
import signal
import sys
from pathlib import Path

from weir.errors import Error
from weir.monitor.watching import watch

READY = "recording"


def main() -> int:
    interval, file = sys.argv[1:3]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Of the terminal: weir ends this process.
    told = False

    def keeps_on(seconds: float) -> bool:
        nonlocal told
        if not told:
            told = True
            sys.stdout.write(READY + "\n")
            sys.stdout.flush()
        return not select.select([sys.stdin], [], [], seconds)[0]

    try:
        watch(Path(file), float(interval), keeps_on=keeps_on)
    except Error as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
