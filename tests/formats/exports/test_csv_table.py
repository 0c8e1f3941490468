"""The table of a plan, as a CSV reader sees it."""

import csv
import io

from support.exported import assert_golden, changed, exported, mixed

from sliceplan.solver.formats.exports.csv_table import COLUMNS


def rows(plan):
    (text,) = exported("csv", plan).files.values()
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_one_row_for_each_workload_on_a_partition_with_all_its_figures():
    plan = mixed()
    found = rows(plan)
    assert tuple(found[0]) == COLUMNS
    served = [(gpu, part, one) for gpu in plan.gpus for part in gpu.partitions for one in part.serves]
    for row, (gpu, part, one) in zip(found, served, strict=True):
        assert (row["node"], row["gpu_index"], row["gpu_id"]) == (gpu.node, str(gpu.index), gpu.id)
        assert row["mig_profile"] == (part.mig_profile or "")
        assert row["start_memory_slice"] == ("" if part.start is None else str(part.start))
        assert row["sm_percent"] == ("" if part.sm_percent is None else str(part.sm_percent))
        assert (row["workload"], int(row["batch_size"]), int(row["processes"])) == (
            one.workload,
            one.batch,
            one.processes,
        )
        assert (float(row["latency_ms"]), float(row["rate_rps"])) == (one.latency_ms, one.rate_rps)


def test_table_is_the_golden_one():
    plan = changed(mixed(), lambda data: data["gpus"].pop(0))
    assert_golden("table.csv", next(iter(exported("csv", plan).files.values())).replace("\r\n", "\n"))


def test_no_text_becomes_a_formula():
    for begin in ("=", "+", "-", "@", "\t"):
        plan = changed(mixed(), lambda data, begin=begin: data["gpus"][0].update(id=f"{begin}1+cmd"))
        assert rows(plan)[0]["gpu_id"] == f"'{begin}1+cmd"


def test_free_partitions_have_no_row_and_are_counted():
    plan = changed(mixed(), lambda data: data["gpus"][0]["partitions"][0].update(serves=[]))
    assert len(rows(plan)) == len(rows(mixed())) - 1
    assert exported("csv", plan).warnings == ("Partitions that are kept free have no row: 1.",)
