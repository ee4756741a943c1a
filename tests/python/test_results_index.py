"""SQL over run folders, and two runs side by side."""

from __future__ import annotations

import json
import re
import shutil
import statistics
from pathlib import Path
from typing import Any

import pytest

from platforms import make_platform, make_stage
from probes import make_probe, samples_of
from synthetic import make_events, make_run, write_run_folder
from synthetic_import import imported
from test_open import opened
from test_report_metadata import metadata_run
from weir.analysis.compare import FigureComparison, compare, pair_by_label
from weir.model.verdict import verdict
from weir.results.campaign import Campaign, CampaignFactor, CampaignRun
from weir.results.errors import ResultError
from weir.results.exploration import ExplorationStep, Knowledge, Outcome, append_step
from weir.results.finalize import finalize
from weir.results.index import FILE_VIEWS, TABLES, query
from weir.results.message_records import Kept, Messages, MovedBeside
from weir.results.node_differences import TOO_LONG
from weir.results.node_records import DescribedNodes, NodeKind
from weir.results.output_records import Throughput
from weir.results.platform_file import write_platform
from weir.results.purpose import Purpose
from weir.results.record import Quantity
from weir.results.revisions import append_revision, changes_of
from weir.results.schema import Anomaly, Binary, OpenedHints, Run
from weir.results.tables import VIEWS


def no_warning(text: str) -> None:
    raise AssertionError(text)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    cases: dict[str, dict[str, Any]] = {
        "job/posix": {"label": "POSIX UNIQUE SYNC", "seed": 1},
        "job/mpi": {"label": "MPI SHARED ASYNC", "seed": 2, "ranks": 64, "has_sibling": True},
        "failed": {"label": "POSIX SHARED SYNC", "seed": 3, "failed": True},
    }
    for name, fields in cases.items():
        write_run_folder(root / name, make_run(**fields), make_events(**fields))
    finalize(root, verdict)
    return root


def ask(root: Path, sql: str) -> list[tuple[Any, ...]]:
    return query(root, sql, no_warning).rows


def test_runs_are_found_with_their_folders(root: Path) -> None:
    found = ask(root, "SELECT folder, ranks, hosts, status FROM runs ORDER BY folder")
    assert found == [
        ("failed", 4, 1, "failed"),
        ("job/mpi", 64, 4, "complete"),
        ("job/posix", 4, 1, "complete"),
    ]


def test_rates_carry_expectation_and_verdict(root: Path) -> None:
    run = make_run(label="POSIX UNIQUE SYNC", seed=1)
    found = ask(
        root,
        "SELECT direction, metric, median_bytes_per_second, expected_bytes_per_second, verdict "
        "FROM rates JOIN runs USING (run_id) WHERE folder = 'job/posix' AND headline "
        "ORDER BY direction",
    )
    assert run.expectation is not None
    expected = {rate.direction: rate.value for rate in run.expectation.rates}
    measured = {rate.direction: rate.median for rate in run.rates if rate.headline}
    assert found == [
        (direction, "span", measured[direction], expected[direction], "as expected")
        for direction in ("read", "write")
    ]


def with_a_priori(run: Run) -> Run:
    record = run.model_dump(mode="json")
    for rate in record["expectation"]["rates"]:
        rate["extrapolated_from_ranks"] = 2
        rate["a_priori"] = {
            "expected_bytes_per_second": 4e9,
            "low_bytes_per_second": 2e9,
            "high_bytes_per_second": 4e9,
            "limiting_stage": "disk",
            "basis": "data sheet",
            "source": "test data",
        }
    known = Run.model_validate(record)
    return known.model_copy(update={"verdict": verdict(known)})


def written_beside_messages() -> Messages:
    alone = Throughput.of([2e9, 1e9, 3e9])
    kept = Kept(values=[0.5], median=0.5, low=0.4, high=0.6, confidence=0.9)
    beside = MovedBeside(moved="write", alone=alone, together=alone, together_share=0.9, kept=kept)
    return Messages(alone_run_id="sync", kinds=[beside])


def on_mixed_nodes(run: Run) -> Run:
    """Says that two nodes of four are of one kind, and one of a kind that is not listed."""
    assert run.environment is not None
    kind = NodeKind(
        nodes=2,
        places=[(1, 2)],
        differences={
            "system_software": {"kernel": "6.1.4", "mpi": None, "secret_key": "s3cret"},
            "file_system": {"options": "ro,secret=s3cret"},
        },
        left_out=["hardware.network"],
    )
    nodes = DescribedNodes(described=4, alike=1, kinds=[kind], unlisted=1)
    system = run.environment.file_system | {
        "options": "rw,secret=s3cret",
        "tunables": {"max_read_ahead_mb": 256, "secret_key": "s3cret"},
    }
    told = {"nodes": nodes, "file_system": system}
    environment = run.environment.model_copy(update=told)
    return run.model_copy(update={"environment": environment})


CAMPAIGN = Campaign(
    format="weir-campaign",
    format_version=1,
    name="blocks",
    description="what it is for",
    workload="madbench",
    created_utc="2025-01-23T10:00:00Z",
    seed=5,
    scale=0.5,
    replication=1,
    given={"verify": True},
    platform="here",
    curve="buffer",
    factors=[
        CampaignFactor(names=["fblocksize"], levels=[[4096], [8192]]),
        CampaignFactor(names=["direct"], levels=[[False], [True]]),
    ],
    combinations=[
        {"fblocksize": 4096, "direct": False},
        {"fblocksize": 8192, "direct": True},
    ],
    runs=[
        CampaignRun(number=1, block=1, combination=0),
        CampaignRun(number=2, block=1, combination=1),
    ],
)


def describe_path(root: Path) -> None:
    """Writes a probe, the description that was fitted to it, its ledger, and an exploration."""
    samples = samples_of("storage_write", lambda _, size: size / 1e8, ranks=(2,), sizes=(4096,))
    messages = [{**samples[0], "operation": "latency", "operation_bytes": 0, "hosts": ["a", "b"]}]
    messages[0]["directory"] = "/scratch"
    differences = {"system_software": {"kernel": "6.2", "token": "s3cret"}}
    kind = {"nodes": 1, "places": [[1, 1]], "differences": differences, "left_out": []}
    probe = make_probe(
        [*samples, *messages],
        warnings=["no direct I/O", "one host"],
        ranks_by_host={"a": 2, "b": 2},
        system_software={"kernel": "6.1"},
        nodes={"described": 2, "alike": 1, "kinds": [kind], "unlisted": 0},
    )
    made = {"measured_utc": "2025-01-23T10:14:40Z", "memory_available_bytes": 2**30}
    one_of_two = {"name": "slow", "rate_bytes_per_second": 5e8, "turn_seconds": 1e-3}
    cached = {
        "units": 2,
        "direction": "write",
        "one_user_bytes_per_second": 9e8,
        "cache": {"bytes": 4096, "rate_bytes_per_second": 4e9},
        "different_units": [one_of_two],
        "how": "probe",
        "interval_how": "of trials",
    }
    before = make_platform([make_stage("disk", 1e9, **cached)], **made)
    after = make_platform([make_stage("disk", 2e9, **cached)], **made)
    description = write_platform(root / "platforms/here.toml", after)
    (root / "platforms/here.probe.json").write_text(probe.model_dump_json())
    (root / "platforms/other.toml").write_text("a = 1\n")
    changes = changes_of(before, after, {"disk": ["bytes"]})
    append_revision(description, changes, "weir platform fit", "2025-01-24T00:00:00Z")
    outcome = Outcome(
        rate="write",
        expected=Quantity(value=2.0, low=1.0, high=3.0),
        bytes_per_second=2.5,
        inside=True,
    )
    known = {"held_out_error": 0.1, "widest": 0.5, "widest_at": {"direct": True}}
    first = {"step": 0, "made_utc": "2025-01-25T00:00:00Z", "runs": [1], "settings": {}}
    begun = ExplorationStep(**first, motivation="the first design", outcomes=[], known=[])
    second = first | {"step": 1, "settings": {"direct": True}, "goal": "confirm"}
    knows = [Knowledge(rate=rate, **known) for rate in ("read", "write")]
    append_step(root / "campaign", begun)
    append_step(
        root / "campaign",
        ExplorationStep(**second, motivation="why", outcomes=[outcome], known=knows),
    )


@pytest.fixture(scope="module")
def of_all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that moves bytes behind computation, of operations on names, of steps, of IOR."""
    root = tmp_path_factory.mktemp("kinds")
    fields: dict[str, Any] = {"label": "MPI SHARED ASYNC", "has_sibling": True, "finalized": True}
    fields |= {"ranks": 64}
    odd = Anomaly(function="S", direction="write", kind="tail", text="a tail", reasons=["b", "c"])
    built = Binary(name="weir-bench", file="/opt/weir/bin/weir-bench", sha256="ab" * 32)
    known = {"anomalies": [odd], "binaries": [built], "messages": written_beside_messages()}
    given, effective = {"cb_nodes": "4", "secret": "a"}, {"cb_nodes": "1", "cb_read": "enable"}
    known["opened_hints"] = [OpenedHints(opened_for="writing", given=given, effective=effective)]
    moves = on_mixed_nodes(with_a_priori(make_run(**fields)).model_copy(update=known))
    write_run_folder(root / "bytes", moves, make_events())
    named = json.loads(metadata_run(1.5).model_dump_json())
    node = {"host": "node00", "operations": 4, "busy_seconds_max": 1.5, "median_per_second": 2.5}
    named |= {"id": "names", "label": "names"}
    named["metadata"][0]["nodes"] = [node]
    expected = {"action": "create", "expected_per_second": 7e3, "how": "test data"}
    expected |= {"low_per_second": 6e3, "high_per_second": 8e3, "limiting_stage": "file system"}
    named["expectation"] = {"made_utc": "", "rates": [], "metadata": [expected]}
    write_run_folder(root / "names", Run.model_validate(named), make_events())
    purpose = Purpose(goal="confirm", motivation="why", expects="what", follows=["names"])
    of_steps = {"id": "steps", "purpose": purpose}
    opening = opened("POSIX", 1e-3, 2e-3, 3e-3).model_copy(update=of_steps)
    write_run_folder(root / "steps", opening, make_events())
    finalize(root / "names", verdict)
    imported(Path(__file__).resolve().parents[1] / "imports" / "ior-4.1.txt", root)
    planned = make_run(seed=7).model_copy(update={"id": "planned"})
    write_run_folder(root / "campaign/runs/0002/posix", planned, make_events())
    (root / "campaign/campaign.json").write_text(CAMPAIGN.model_dump_json())
    describe_path(root)
    return root


def test_figures_of_every_unit_are_in_one_table(of_all_kinds: Path) -> None:
    sql = "SELECT name, metric, unit, median, expected, verdict, p50_ns FROM series "
    (create,) = ask(of_all_kinds, sql + "WHERE run_id = 'names' AND headline")
    assert create == ("create", "span", "1/s", 3456.7, 7e3, "not decided", 5000)
    (step,) = ask(of_all_kinds, sql + "WHERE run_id = 'steps' AND unit = 's'")
    assert step == ("open", "span", "s", 2e-3, None, None, None)
    spread = "SELECT mean, standard_deviation FROM series WHERE name = 'open'"
    assert ask(of_all_kinds, spread) == [pytest.approx((2e-3, 1e-3))]
    units = ask(of_all_kinds, "SELECT DISTINCT unit FROM points ORDER BY unit")
    assert units == [("1/s",), ("bytes/s",)]


def test_runs_are_joined_with_the_levels_of_their_campaign(of_all_kinds: Path) -> None:
    sql = (
        "SELECT folder, campaigns.name, planned, factors.name, value FROM factors "
        "JOIN campaigns USING (campaign) JOIN runs USING (run_id) ORDER BY factors.name"
    )
    assert ask(of_all_kinds, sql) == [
        ("campaign/runs/0002/posix", "blocks", 2, "direct", "true"),
        ("campaign/runs/0002/posix", "blocks", 2, "fblocksize", "8192"),
    ]


def test_a_damaged_campaign_is_named_and_its_runs_remain(tmp_path: Path) -> None:
    write_run_folder(tmp_path / "runs/0001/posix", make_run(), make_events())
    (tmp_path / "campaign.json").write_text("{}")
    told: list[str] = []
    assert query(tmp_path, "SELECT count(*) FROM runs", told.append).rows == [(1,)]
    (text,) = told
    assert f"runs/0001/posix: {tmp_path / 'campaign.json'}: " in text


def test_parameters_are_rows_with_their_origin(root: Path) -> None:
    which = "run_id = (SELECT run_id FROM runs WHERE folder = 'job/posix')"
    sql = f"SELECT value, origin FROM parameters WHERE {which} AND name IN ('iomode', 'verify')"
    assert ask(root, sql + " ORDER BY name") == [("SYNC", "environment"), ("true", "default")]
    same = "SELECT DISTINCT value = runs.parameters->>name FROM parameters JOIN runs USING (run_id)"
    assert ask(root, same) == [(True,)]


def test_verdicts_stand_beside_what_was_measured_and_expected(root: Path) -> None:
    run = make_run(label="POSIX UNIQUE SYNC", seed=1)
    sql = (
        "SELECT name, verdict, measured, measured_low, measured_high, expected_low <= expected "
        "FROM verdicts JOIN runs USING (run_id) WHERE folder = 'job/posix' ORDER BY name"
    )
    rates = {rate.direction: rate for rate in run.rates if rate.headline}
    assert ask(root, sql) == [
        (name, "as expected", rates[name].median, rates[name].low, rates[name].high, True)
        for name in ("read", "write")
    ]
    assert ask(root, "SELECT count(*) FROM verdicts JOIN runs USING (run_id) "
                     "WHERE folder = 'failed'") == [(0,)]  # fmt: skip


def test_anomalies_are_a_table(of_all_kinds: Path) -> None:
    sql = "SELECT function, direction, kind, text, reasons FROM anomalies"
    assert ask(of_all_kinds, sql) == [("S", "write", "tail", "a tail", "b; c")]


def test_the_functions_of_a_direction_are_figures_too(root: Path) -> None:
    run = make_run(label="POSIX UNIQUE SYNC", seed=1)
    which = f"run_id = '{run.id}' AND name = 'S write' AND metric = 'span'"
    ((median, longest),) = ask(root, f"SELECT median, max_ns FROM series WHERE {which}")
    phases = [p for r in run.repetitions if not r.warmup for p in r.phases if p.function == "S"]
    assert median == statistics.median(p.rate_span_bytes_per_second or 0 for p in phases)
    assert longest == next(one.max_ns for one in run.histograms if one.function == "S")


def test_every_column_is_filled_by_some_run(of_all_kinds: Path, root: Path) -> None:
    for table, columns in TABLES.items():
        counted = ", ".join(f'count("{name}")' for name in columns)
        (first,), (second,) = (
            ask(at, f"SELECT {counted} FROM {table}") for at in (of_all_kinds, root)
        )
        empty = [name for name, a, b in zip(columns, first, second, strict=True) if not a + b]
        empty = [name for name in empty if name != "changed"]  # No run here was changed.
        assert empty == [], table


def test_every_table_is_documented() -> None:
    """``docs/results.md`` has a table in which each line begins with the names of tables."""
    text = (Path(__file__).resolve().parents[2] / "docs/results.md").read_text(encoding="utf-8")
    table = text[text.index("| table | a row") : text.index("## Which build")]
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    named = {name for line in lines for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named == {*TABLES, *VIEWS, *FILE_VIEWS}


def test_operations_and_times_are_compared_as_rates_are() -> None:
    one = metadata_run(1.5)
    (created,) = compare(one, one).figures
    assert (created.figure.name, created.figure.unit, created.ratio) == ("create", "1/s", 1.0)
    first, second = opened("POSIX", 1e-3, 1e-3, 1e-3), opened("POSIX", 2e-3, 3e-3, 4e-3)
    steps = [one for one in compare(first, second).figures if one.figure.unit == "s"]
    assert [(one.figure.name, one.ratio) for one in steps] == [("open", pytest.approx(3))]
    assert not steps[0].intervals_overlap


def test_damaged_events_are_told_in_one_line(tmp_path: Path) -> None:
    write_run_folder(tmp_path, make_run(finalized=True), make_events(), finalized=True)
    (tmp_path / "events.parquet").write_text("garbage")
    with pytest.raises(ResultError, match=r"one events\.parquet cannot be read: .*too small"):
        query(tmp_path, "SELECT count(*) FROM events", lambda _: None)


def test_phases_and_events_count_the_same_bytes(root: Path) -> None:
    sql = """
        WITH by_phase AS (
            SELECT run_id, function, direction, sum(bytes) AS stated FROM phases GROUP BY ALL),
        by_event AS (
            SELECT run_id, function, operation AS direction, sum(bytes) AS moved
            FROM events JOIN repetitions USING (run_id, repetition)
            WHERE operation IN ('read', 'write') GROUP BY ALL)
        SELECT count(*), bool_and(stated = moved)
        FROM by_phase JOIN by_event USING (run_id, function, direction)
    """
    assert ask(root, sql) == [(12, True)]


def test_parameters_and_environment_are_json(root: Path) -> None:
    sql = "SELECT DISTINCT parameters->>'fblocksize', environment->'file_system'->>'type' FROM runs"
    assert ask(root, sql) == [("4096", "ext4")]


def test_effective_rates_stand_beside_the_synchronous_ones(root: Path) -> None:
    sql = (
        "SELECT label, direction, nbin_multiple_bytes_per_second / synchronous_bytes_per_second "
        "FROM effective JOIN runs USING (run_id) ORDER BY direction"
    )
    assert ask(root, sql) == [("MPI SHARED ASYNC", d, 8.0) for d in ("read", "write")]


def test_nodes_name_hosts(root: Path) -> None:
    sql = "SELECT DISTINCT host, ranks FROM nodes JOIN runs USING (run_id) WHERE runs.ranks = 64"
    assert sorted(ask(root, sql.replace(", ranks", ", nodes.ranks"))) == [
        (f"node{number:02d}", 16) for number in range(4)
    ]


def test_conditions_have_each_value_of_the_environment(of_all_kinds: Path) -> None:
    sql = "SELECT name, value FROM conditions JOIN runs USING (run_id) WHERE folder = 'bytes'"
    assert ask(of_all_kinds, f"{sql} AND name LIKE 'file_system.%' ORDER BY name") == [
        ("file_system.mount", "/scratch"),
        ("file_system.options", "rw,secret=(not shown)"),
        ("file_system.tunables.max_read_ahead_mb", "256"),
        ("file_system.type", "ext4"),
    ]
    assert ask(of_all_kinds, f"{sql} AND name = 'quiet.quiet'") == [("quiet.quiet", "true")]
    assert ask(of_all_kinds, f"{sql} AND value LIKE '%s3cret%'") == []


def test_hints_that_were_given_stand_beside_those_in_effect(of_all_kinds: Path) -> None:
    sql = "SELECT opened_for, name, given, effective FROM hints ORDER BY name"
    assert ask(of_all_kinds, sql) == [
        ("writing", "cb_nodes", "4", "1"),
        ("writing", "cb_read", None, "enable"),
    ]


def test_nodes_that_differ_have_a_row_for_each_part(of_all_kinds: Path) -> None:
    sql = "SELECT kind, nodes, hosts, name, value, first_value FROM node_differences ORDER BY name"
    assert ask(of_all_kinds, sql) == [
        (
            1,
            2,
            "node[01-02]",
            "file_system.options",
            "ro,secret=(not shown)",
            "rw,secret=(not shown)",
        ),
        (1, 2, "node[01-02]", "hardware.network", TOO_LONG, None),
        (1, 2, "node[01-02]", "system_software.kernel", "6.1.4", "6.1.0"),
        (1, 2, "node[01-02]", "system_software.mpi", None, "Open MPI 4.1.4"),
    ]
    sql = "SELECT described_nodes, unlike_nodes FROM runs WHERE described_nodes IS NOT NULL"
    assert ask(of_all_kinds, sql) == [(4, 3)]


def test_a_probe_is_joined_with_the_description_that_was_fitted_to_it(of_all_kinds: Path) -> None:
    sql = (
        "SELECT probe, name, operation, trials > 1, "
        "round(s.ranks * s.operations * operation_bytes / seconds_median / s.bytes_per_second, 9) "
        "FROM probe_samples s JOIN probes USING (probe) JOIN platforms USING (platform) "
        "ORDER BY operation"
    )
    assert ask(of_all_kinds, sql) == [
        ("platforms/here.probe.json", "test data", "latency", True, None),
        ("platforms/here.probe.json", "test data", "storage_write", True, 1.0),
    ]


def test_a_probe_has_a_row_for_each_difference_of_its_hosts(of_all_kinds: Path) -> None:
    assert ask(of_all_kinds, "SELECT * FROM probe_differences") == [
        ("platforms/here.probe.json", 1, 1, "b", "system_software.kernel", "6.2", "6.1")
    ]


def test_stages_of_a_platform_have_a_row_for_each_unit_that_differs(of_all_kinds: Path) -> None:
    sql = "SELECT platform, stage, unit, units, bytes_per_second FROM platform_stages"
    assert ask(of_all_kinds, sql + " ORDER BY units DESC") == [
        ("platforms/here.toml", "disk", None, 2, 2e9),
        ("platforms/here.toml", "disk", "slow", 1, 5e8),
    ]


def test_revisions_have_each_constant_before_and_after(of_all_kinds: Path) -> None:
    sql = "SELECT platform, revision, constant, unit, before, after, runs->>0 FROM revisions"
    assert ask(of_all_kinds, sql) == [
        ("platforms/here.toml", 1, "disk, rate", "bytes/s", 1e9, 2e9, "bytes")
    ]


def test_steps_of_explorations_are_joined_with_their_campaign(of_all_kinds: Path) -> None:
    sql = (
        "SELECT name, step, motivation, rate, expected, measured, inside, widest "
        "FROM explorations JOIN campaigns USING (campaign) ORDER BY step, rate DESC"
    )
    assert ask(of_all_kinds, sql) == [
        ("blocks", 0, "the first design", None, None, None, None, None),
        ("blocks", 1, "why", "write", 2.0, 2.5, True, 0.5),
        ("blocks", 1, "why", "read", None, None, None, 0.5),
    ]


def test_platforms_beside_the_root_are_found_once(of_all_kinds: Path, tmp_path: Path) -> None:
    beside = [of_all_kinds / "platforms", tmp_path / "nowhere"]
    sql = "SELECT platform FROM platforms"
    (of_none,) = query(tmp_path, sql, no_warning, beside=beside).rows
    assert of_none == (str(of_all_kinds / "platforms/here.toml"),)
    assert query(of_all_kinds, sql, no_warning, beside=beside).rows == [("platforms/here.toml",)]


@pytest.mark.parametrize(
    "name", ["probe.json", "here.probe.json", "here.toml", "here.revisions.jsonl",
             "exploration.jsonl"]
)  # fmt: skip
def test_damaged_files_about_the_path_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# weir-platform\n{")
    told: list[str] = []
    assert query(tmp_path, "SELECT 1", told.append).rows == [(1,)]
    (text,) = told
    assert text.startswith(f"left out: {tmp_path / name}")
    assert "\n" not in text


def test_a_folder_without_runs_has_all_tables_and_no_rows(tmp_path: Path) -> None:
    for table in [*TABLES, *VIEWS, "events"]:
        assert ask(tmp_path, f"SELECT count(*) FROM {table}") == [(0,)]


def test_invalid_and_copied_folders_are_left_out_by_name(tmp_path: Path) -> None:
    write_run_folder(tmp_path / "a", make_run(), make_events())
    write_run_folder(tmp_path / "copy", make_run(), make_events())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/run.json").write_text("{}")
    told: list[str] = []
    assert query(tmp_path, "SELECT folder FROM runs", told.append).rows == [("a",)]
    assert len(told) == 2
    assert f"left out: {tmp_path / 'broken/run.json'}" in told[0]
    assert f"left out: {tmp_path / 'copy'} has the id of {tmp_path / 'a'}" in told[1]


def test_a_changed_copy_does_not_hide_the_run(tmp_path: Path) -> None:
    write_run_folder(tmp_path / "run", make_run(), make_events())
    finalize(tmp_path / "run", verdict)
    shutil.copytree(tmp_path / "run", tmp_path / "a copy")
    record = json.loads((tmp_path / "a copy/run.json").read_text())
    for rate in record["rates"]:
        rate["median_bytes_per_second"] *= 3
    (tmp_path / "a copy/run.json").write_text(json.dumps(record))
    told: list[str] = []
    assert query(tmp_path, "SELECT folder FROM runs", told.append).rows == [("run",)]
    assert told[-1] == (
        f"left out: {tmp_path / 'a copy'} was changed, and {tmp_path / 'run'} has the same id and "
        "was not"
    )
    shutil.rmtree(tmp_path / "run")
    told.clear()
    assert query(tmp_path, "SELECT folder FROM runs", told.append).rows == [("a copy",)]
    assert told
    assert all(
        text.startswith(f"{tmp_path / 'a copy'}: run.json was changed: its ") for text in told
    )
    sql = "SELECT changed FROM runs"
    assert query(tmp_path, sql, told.append).rows[0][0].startswith("run.json was changed: its ")


@pytest.mark.parametrize("sql", ["SELECT nothing FROM runs", "SELEC 1", "SELECT 1; SELECT x"])
def test_a_wrong_query_is_told_on_one_line(root: Path, sql: str) -> None:
    with pytest.raises(ResultError, match="the query failed: ") as caught:
        ask(root, sql)
    assert "\n" not in str(caught.value)


def test_a_missing_root_is_told(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="is not a folder"):
        ask(tmp_path / "nowhere", "SELECT 1")


def by_function(
    figures: list[FigureComparison],
) -> dict[tuple[str, str | None], FigureComparison]:
    return {(one.figure.function, one.figure.direction): one for one in figures}


def test_comparison_finds_the_direction_that_changed() -> None:
    first = make_run(seed=1)
    second = make_run(seed=2, read_bytes_per_second=0.95e9)
    rates = by_function(compare(first, second).figures)
    assert set(rates) == {
        ("all", "read"), ("all", "write"), ("S", "write"), ("W", "read"), ("W", "write"),
        ("C", "read"),
    }  # fmt: skip
    assert rates["W", "read"].ratio == pytest.approx(0.5, rel=0.1)
    assert not rates["all", "read"].intervals_overlap
    assert rates["all", "write"].ratio == pytest.approx(1.0, rel=0.1)
    assert rates["all", "write"].intervals_overlap


def test_comparison_names_the_parameters_that_differ() -> None:
    result = compare(make_run(), make_run(label="MPI UNIQUE SYNC", ranks=64))
    differing = {item.name: (item.first, item.second) for item in result.differences}
    assert differing == {
        "iomethod": ("POSIX", "MPI"),
        "ranks": ("4", "64"),
        "hosts": ("1", "4"),
    }


def test_different_modes_are_compared_by_both_metrics() -> None:
    result = compare(make_run(), make_run(label="POSIX UNIQUE ASYNC"))
    assert {one.figure.metric for one in result.figures} == {"span", "foreground"}


def test_folders_are_paired_by_label() -> None:
    left = [make_run(label=label) for label in ("POSIX UNIQUE SYNC", "MPI UNIQUE SYNC")]
    right = [make_run(label=label) for label in ("MPI UNIQUE SYNC", "MPI SHARED SYNC")]
    pairs, alone = pair_by_label(left, right)
    assert [(a.label, b.label) for a, b in pairs] == [("MPI UNIQUE SYNC", "MPI UNIQUE SYNC")]
    assert alone == ["MPI SHARED SYNC", "POSIX UNIQUE SYNC"]
    assert pair_by_label(left[:1], right[:1])[0] == [(left[0], right[0])]
