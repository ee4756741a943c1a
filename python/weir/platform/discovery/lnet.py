"""Lustre's LNet: nodes that use the same routers share a way to the storage.

/proc/sys/lnet/routes             lctl route_list                        lnetctl route show -v
Routing disabled                  net o2ib1 hops 1 gw 10.0.0.1@tcp       route:
net  hops priority state router   up pri 0                                   - net: o2ib1
o2ib1 1 0 up 10.0.0.1@tcp                                                      gateway: 10.0.0.1@tcp
                                                                              state: up
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from weir.platform.discovery.findings import Certainty, Finding, Missing, Place
from weir.platform.discovery.recording import LNET_ROUTES, Recording
from weir.platform.discovery.texts import Text, excerpt

MOST_ROUTES = 1 << 16
ROUTERS_IN_NAMES = 2
_LCTL = re.compile(
    r"net\s+(\S+)\s+hops\s+-?[0-9]+\s+gw\s+(\S+@\S+)\s+(up|down)(?:\s+pri\s+[0-9]+)?"
)
_PROC = re.compile(r"(\S+)\s+-?[0-9]+\s+(?:[0-9]+\s+)?(up|down|NA)\s+(\S+@\S+)")
_YAML = re.compile(r"\s*(?:- )?\s*([a-z_ -]+):\s*(.*)")


@dataclass(frozen=True)
class Route:
    """A route to a network of servers through one router."""

    net: str
    router: str
    is_down: bool


def from_routes(recording: Recording) -> Finding | Missing:
    """Returns for each node the routers that it uses."""
    source = "Lustre's LNet routes"
    places: dict[str, Place] = {}
    down: set[str] = set()
    recorded = 0
    for node in recording.nodes:
        text = node.text(LNET_ROUTES)
        if text is None:
            continue
        recorded += 1
        routes = read_routes(text)
        down |= {route.router for route in routes if route.is_down}
        used = tuple(sorted({route.router for route in routes if not route.is_down}))
        if used:
            places[node.name] = Place(" ".join(used), (("routers", _label(used)),))
    if not recorded:
        return Missing(source, "no node has LNet: no /proc/sys/lnet/routes, lctl or lnetctl")
    if not places:
        return Missing(source, "the nodes have LNet but no routes, so servers are reached directly")
    notes = [f"routers that are down are left out: {', '.join(sorted(down))}"] if down else []
    return Finding(
        source,
        Certainty.SEEN,
        "set of LNet routers",
        places,
        "way to storage",
        notes=tuple(notes),
    )


def read_routes(text: Text) -> list[Route]:
    """Returns the routes of any of the three texts."""
    if any(line.startswith("route:") for _, line in text.lines()):
        return _read_yaml(text)
    routes: list[Route] = []
    for number, line in text.lines():
        words = line.strip()
        if not words or words.startswith(("Routing ", "#")) or words.split()[:2] == ["net", "hops"]:
            continue
        if found := _LCTL.fullmatch(words):
            routes.append(Route(found[1], found[2], found[3] == "down"))
        elif found := _PROC.fullmatch(words):
            routes.append(Route(found[1], found[3], found[2] == "down"))
        else:
            raise _fault(text, number, words)
        _check_number(text, number, routes)
    return routes


def _read_yaml(text: Text) -> list[Route]:
    routes: list[Route] = []
    for number, line in text.lines():
        words = line.strip()
        if not words or words.startswith("#") or line.rstrip() == "route:":
            continue
        found = _YAML.fullmatch(line)
        if found is None:
            raise _fault(text, number, words)
        name, value = found[1].strip(), found[2].strip()
        if name == "net":
            routes.append(Route(value, "", is_down=False))
            _check_number(text, number, routes)
        elif not routes:
            raise _fault(text, number, words)
        elif name == "gateway":
            routes[-1] = Route(routes[-1].net, value, routes[-1].is_down)
        elif name == "state":
            routes[-1] = Route(routes[-1].net, routes[-1].router, value == "down")
    last = text.content.count("\n") + 1
    if any("@" not in route.router for route in routes):
        raise text.fault(last, "ends a text in which a route has no gateway", "record it again")
    return routes


def _check_number(text: Text, number: int, routes: list[Route]) -> None:
    if len(routes) > MOST_ROUTES:
        raise text.fault(number, f"exceeds {MOST_ROUTES} routes", "leave some out")


def _fault(text: Text, number: int, words: str) -> Exception:
    return text.fault(
        number,
        f"is no route: '{excerpt(words)}'",
        "record /proc/sys/lnet/routes, lctl route_list or lnetctl route show -v again",
    )


def _label(routers: tuple[str, ...]) -> str:
    shown = ", ".join(routers[:ROUTERS_IN_NAMES])
    more = len(routers) - ROUTERS_IN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
