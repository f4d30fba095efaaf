"""Spark as witness: mixed histories of lakebed and Spark on the same Delta tables.

After every step, whoever took it, both read all rows, and the rows are equal. Prints a line per table, and fails at the first difference.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import StringType

SCHEMA = "id long not null, p string, v long, x double, d date, t timestamp"
HELD = "id long, p string, s string"
COLUMNS = ["id", "p", "v", "x", "d", "t"]

# name, properties, partitioned, and what else is done to the table; "more" are two features at once, which only --all runs
TABLES = [
    ("plain", {}, False, set()),
    ("partitioned", {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"}, True, {"checkpoint"}),
    ("vectors", {"delta.enableDeletionVectors": "true"}, False, set()),
    ("vectors-partitioned", {"delta.enableDeletionVectors": "true"}, True, {"more"}),
    ("tracking", {"delta.enableRowTracking": "true"}, False, {"ids"}),
    ("tracking-vectors", {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}, False, {"ids", "more"}),
    ("stamps", {"delta.enableInCommitTimestamps": "true"}, False, {"stamps"}),
    ("mapped-name", {"delta.columnMapping.mode": "name"}, True, set()),
    ("mapped-id", {"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true"}, False, {"more"}),
    ("tracking-mapped", {"delta.enableRowTracking": "true", "delta.columnMapping.mode": "id"}, False, {"ids"}),
    ("v2-checkpoints", {"delta.checkpointPolicy": "v2", "delta.checkpoint.writeStatsAsStruct": "true"}, False, {"checkpoint"}),
    ("feed", {"delta.enableChangeDataFeed": "true"}, False, {"feed"}),
    ("feed-vectors", {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}, True, {"feed", "more"}),
    ("clustered", {}, False, {"clustered"}),
    ("compacted-log", {"delta.checkpointInterval": "100"}, False, {"compact-log"}),
    ("widened", {"delta.enableTypeWidening": "true"}, False, {"widened"}),
    ("constrained", {"delta.constraints.small": "v < 100000", "delta.appendOnly": "false"}, False, set()),
]


class Lakebed:
    """The program, as a user runs it."""

    def __init__(self, program, scratch):
        self.program, self.scratch = program, scratch

    def run(self, *words, expect=0):
        done = subprocess.run([self.program, *words, "--json"], capture_output=True, text=True, check=False)
        if done.returncode != expect:
            raise SystemExit(f"lakebed {' '.join(words)}: exit {done.returncode}, not {expect}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def commit(self, *words):
        answer = self.run(*words, "--durability", "none")
        if answer["outcome"] != "committed":
            raise SystemExit(f"lakebed {' '.join(words)}: {answer}")
        return answer["version"]

    def rows_file(self, rows):
        path = self.scratch / "rows.jsonl"
        path.write_text("".join(json.dumps(dict(zip(COLUMNS, row))) + "\n" for row in rows))
        return str(path)

    def rows(self, table, *more):
        return {row["id"]: tuple(row[name] for name in COLUMNS) for row in self.run("scan", table, *more)}


def session(jars, scratch):
    builder = SparkSession.builder.master("local[1]").appName("witness")
    config = {
        "spark.jars": ",".join(str(jar) for jar in sorted(Path(jars).glob("*.jar"))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Tables of a few rows: compiling a query takes longer than interpreting it.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=300m",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
        "spark.databricks.delta.optimize.maxThreads": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "2g",
    }
    for key, value in config.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("FATAL")
    return spark


def row(number, p, v=None):
    day = f"2024-02-{1 + number % 28:02d}"
    x = None if number % 5 == 0 else number / 4
    return (number, p, number * 10 if v is None else v, x, day, f"{day}T12:00:00.{number:06d}Z")


def literal(values):
    number, p, v, x, d, t = values
    text = "NULL" if p is None else f"'{p}'"
    x = "NULL" if x is None else f"{x}D"
    return f"({number}L, {text}, {v}L, {x}, DATE '{d}', TIMESTAMP '{t}')"


def row_values(rows):
    return ", ".join(literal(values) for values in rows)


def source(rows):
    return f"(SELECT * FROM VALUES {row_values(rows)} AS s(id, p, v, x, d, t))"


class World:
    """One table, and the rows that it must have."""

    def __init__(self, spark, lakebed, root, name, properties, partitioned, extras):
        self.spark, self.lakebed, self.name, self.extras = spark, lakebed, name, extras
        self.path = str(root / name)
        self.table = f"delta.`{self.path}`"
        self.steps = 0
        if "clustered" in extras:
            spark.sql(f"CREATE TABLE {self.table} (id BIGINT NOT NULL, p STRING, v BIGINT, x DOUBLE, d DATE, t TIMESTAMP) USING delta CLUSTER BY (p, v)")
        elif "widened" in extras:
            schema = SCHEMA.replace("v long", "v int")
            words = ["create", self.path, "--format", "delta", "--schema", schema]
            lakebed.commit(*words, *(f"--property={key}={value}" for key, value in properties.items()))
        else:
            words = ["create", self.path, "--format", "delta", "--schema", SCHEMA]
            words += ["--partition-by", "p"] if partitioned else []
            lakebed.commit(*words, *(f"--property={key}={value}" for key, value in properties.items()))
        self.model = {}
        self.check("created")

    def spark_rows(self, table=None):
        wanted = "id, p, v, x, CAST(d AS STRING) AS d, date_format(t, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\") AS t"
        found = self.spark.sql(f"SELECT {wanted} FROM {table or self.table}").collect()
        rows = {one["id"]: tuple(one[name] for name in COLUMNS) for one in found}
        if len(rows) != len(found):
            raise SystemExit(f"{self.name}: Spark sees a row twice")
        return rows

    def check(self, what):
        self.steps += 1
        ours, theirs = self.lakebed.rows(self.path), self.spark_rows()
        for who, rows in (("lakebed", ours), ("Spark", theirs)):
            if rows != self.model:
                missing = {key: value for key, value in self.model.items() if rows.get(key) != value}
                extra = {key: value for key, value in rows.items() if self.model.get(key) != value}
                raise SystemExit(f"{self.name}, after {what}: {who} lacks {missing} and has {extra}")

    def update(self, change):
        self.model = {key: change(value) for key, value in self.model.items()}
        self.model = {key: value for key, value in self.model.items() if value is not None}

    # Ours.

    def append(self, rows):
        self.lakebed.commit("append", self.path, self.lakebed.rows_file(rows))
        self.model.update({one[0]: one for one in rows})
        self.check("our append")

    def our_update(self, where, assign, change):
        self.lakebed.commit("update", self.path, "--set", assign, "--where", where)
        self.update(change)
        self.check(f"our update {assign}")

    def our_delete(self, where, test):
        self.lakebed.commit("delete", self.path, "--where", where)
        self.update(lambda values: None if test(values) else values)
        self.check(f"our delete {where}")

    def our_merge(self, rows):
        self.lakebed.commit("merge", self.path, self.lakebed.rows_file(rows), "--on", "id")
        self.model.update({one[0]: one for one in rows})
        self.check("our merge")

    # Theirs.

    def sql(self, statement, what):
        self.spark.sql(statement).collect()
        self.check(f"Spark's {what}")

    def history(self):
        self.append([row(number, "ab"[number % 2] if number % 3 else None) for number in range(12)])
        ids = self.row_ids()
        self.our_update("id % 4 = 0", "v = v + 1", lambda r: r if r[0] % 4 else (*r[:2], r[2] + 1, *r[3:]))
        self.our_delete("id = 5 OR id = 6", lambda r: r[0] in (5, 6))
        self.our_merge([row(1, "b", -1), row(20, "c y")])
        self.keeps(ids, "ours")
        if "widened" in self.extras:
            self.sql(f"ALTER TABLE {self.table} ALTER COLUMN v TYPE BIGINT", "widening")
            self.append([row(21, "a", 99_999)])

        rows = [row(30, "a"), row(31, None), row(32, "d=/z")]
        self.model.update({one[0]: one for one in rows})
        self.sql(f"INSERT INTO {self.table} VALUES {row_values(rows)}", "insert")
        self.update(lambda r: r if r[0] % 3 else (*r[:2], r[2] + 7, *r[3:]))
        self.sql(f"UPDATE {self.table} SET v = v + 7 WHERE id % 3 = 0", "update")
        self.update(lambda r: None if r[0] in (2, 31) else r)
        self.sql(f"DELETE FROM {self.table} WHERE id IN (2, 31)", "delete")
        merged = [row(3, "b", -3), row(40, "e")]
        self.model.update({one[0]: one for one in merged})
        self.sql(
            f"MERGE INTO {self.table} AS t USING {source(merged)} AS s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            "merge",
        )
        self.keeps(ids, "Spark")

        ids = self.row_ids()
        self.our_delete("id = 4 OR v = 107", lambda r: r[0] == 4 or r[2] == 107)
        self.our_update("id IN (7, 8)", "p = 'zz'", lambda r: (r[0], "zz", *r[2:]) if r[0] in (7, 8) else r)
        self.keeps(ids, "ours after Spark")
        if self.extras & {"checkpoint", "compact-log"} or self.name == "plain":
            self.upkeep()
        self.sql(f"OPTIMIZE {self.table}", "optimize")
        self.keeps(ids, "optimize")
        self.our_compaction()
        self.keeps(ids, "our compaction")
        self.our_merge([row(1, "b", -11), row(50, "a")])
        ids = self.row_ids()
        self.our_compaction("--minor")
        self.keeps(ids, "our minor compaction")
        # Along the table's own columns where it has some; one alone is sorted by, several are a curve.
        self.our_compaction("--cluster-by", "p,v" if "clustered" in self.extras else "v")
        self.keeps(ids, "our clustering")
        scope = [row(61, "zz"), row(62, "zz")]
        self.lakebed.commit("overwrite", self.path, self.lakebed.rows_file(scope), "--where", "p = 'zz'")
        self.update(lambda r: None if r[1] == "zz" else r)
        self.model.update({one[0]: one for one in scope})
        self.check("our overwrite of a range")
        self.update(lambda r: r if r[0] != 61 else (*r[:2], 0, *r[3:]))
        self.sql(f"UPDATE {self.table} SET v = 0 WHERE id = 61", "last update")
        self.features()

    def forget(self):
        """Spark reads the log anew."""
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def upkeep(self):
        """Our checkpoint, or our compacted log: both readers go on, and Spark reads a copy that holds nothing else."""
        log = Path(self.path, "_delta_log")
        self.lakebed.run("compact-log" if "compact-log" in self.extras else "checkpoint", self.path)
        self.forget()
        self.check("our upkeep")
        copy = Path(self.path + "-alone")
        shutil.copytree(self.path, copy)
        log = copy / "_delta_log"
        # Hadoop's own sums of files that change here; the checksums of versions have no dot before their names.
        for name in log.glob(".*.crc"):
            name.unlink()
        if "compact-log" in self.extras:
            self.empty_compacted(log)
        else:
            self.drop_below_checkpoint(log)
        # What the copy holds is read for the first time here.
        if self.spark_rows(f"delta.`{copy}`") != self.model:
            raise SystemExit(f"{self.name}: what we wrote for upkeep is not enough for Spark")
        found = self.spark.sql(f"SELECT v FROM delta.`{copy}` WHERE id = 40").collect()
        if [one["v"] for one in found] != [self.model[40][2]]:
            raise SystemExit(f"{self.name}: Spark does not find a row by its statistics")
        if "compact-log" not in self.extras:
            self.checksum(copy)

    def checksum(self, copy):
        """Spark holds our checksum file against the state that it computed."""
        jvm = self.spark._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(copy))
        nothing = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(jvm.java.util.HashMap())
        if not log.unsafeVolatileSnapshot().validateChecksum(nothing):
            raise SystemExit(f"{self.name}: Spark found no checksum of ours")

    def drop_below_checkpoint(self, log):
        """Removes every commit that a checkpoint stands for, but its own: Spark insists on one commit."""
        newest = max(int(one.name.split(".")[0]) for one in log.glob("*.checkpoint*"))
        gone = [one for one in log.glob("*.json") if one.name[:20].isdigit() and ".checkpoint" not in one.name and int(one.name[:20]) < newest]
        for one in gone:
            one.unlink()
        if not gone:
            raise SystemExit(f"{self.name}: no commit below the checkpoint")

    def empty_compacted(self, log):
        """Takes the contents of the commits that a compacted log stands for: whoever reads them finds no row."""
        compacted = list(log.glob("*.compacted.json"))
        if not compacted:
            raise SystemExit(f"{self.name}: no compacted log was written")
        for one in compacted:
            first, last = (int(number) for number in one.name.split(".")[:2])
            for version in range(first, last + 1):
                commit = log / f"{version:020}.json"
                lines = commit.read_text().splitlines()
                kept = [line for line in lines if not line.startswith(('{"add"', '{"remove"'))]
                commit.write_text("\n".join(kept) + "\n")

    def our_compaction(self, *how):
        """Small files of both writers, joined by us; nothing is left to do where Spark joined them all."""
        answer = self.lakebed.run("compact", self.path, *how, "--durability", "none")
        if answer["outcome"] not in ("committed", "nothing"):
            raise SystemExit(f"{self.name}: our compaction {how}: {answer}")
        self.check(f"our compaction {how}")

    def row_ids(self):
        if "ids" not in self.extras:
            return None
        found = self.spark.sql(f"SELECT id, _metadata.row_id AS r FROM {self.table}").collect()
        ids = {one["id"]: one["r"] for one in found}
        if None in ids.values() or len(set(ids.values())) != len(ids):
            raise SystemExit(f"{self.name}: row ids are missing or not unique: {ids}")
        return ids

    def keeps(self, before, what):
        if before is None:
            return
        now = self.row_ids()
        moved = {key: (before[key], now[key]) for key in before if key in now and before[key] != now[key]}
        if moved:
            raise SystemExit(f"{self.name}, {what}: row ids changed: {moved}")

    def features(self):
        details = self.lakebed.run("show", self.path)
        history = self.spark.sql(f"DESCRIBE HISTORY {self.table}").collect()
        newest = details["version"]
        if history[0]["version"] != newest:
            raise SystemExit(f"{self.name}: Spark's newest version is {history[0]['version']}, ours {newest}")
        if "stamps" in self.extras:
            theirs = {one["version"]: round(one["timestamp"].timestamp() * 1000) for one in history}
            ours = {one["version"]: one["timestamp_ms"] for one in self.lakebed.run("history", self.path)}
            if ours != theirs or sorted(theirs.values()) != [theirs[v] for v in sorted(theirs)]:
                raise SystemExit(f"{self.name}: times differ: {ours} and {theirs}")
        if "clustered" in self.extras and "delta.clustering" not in details["domain_metadata"]:
            raise SystemExit(f"{self.name}: the clustering is gone")
        if "feed" in self.extras:
            self.feed(newest)

    def feed(self, newest):
        """What the change feed says of each version is the difference between two versions, as Spark tells it and as we do."""
        columns = [name for name in COLUMNS if name not in ("d", "t", "x")]
        listed = ", ".join(columns)
        told = self.spark.sql(f"SELECT _commit_version, _change_type, {listed} FROM table_changes_by_path('{self.path}', 1, {newest})").collect()
        theirs = [(one["_commit_version"], one["_change_type"], *(one[name] for name in columns)) for one in told]
        ours = [
            (one["version"], one["change"], *(one["row"][name] for name in columns))
            for one in self.lakebed.run("changes", self.path, "--from", "0", "--to", str(newest))
        ]
        before = set()
        for version in range(1, newest + 1):
            found = self.spark.sql(f"SELECT {listed} FROM {self.table} VERSION AS OF {version}").collect()
            after = {tuple(one) for one in found}
            for who, changes in (("Spark", theirs), ("lakebed", ours)):
                here = [one for one in changes if one[0] == version]
                gone = {one[2:] for one in here if one[1] in ("delete", "update_preimage")}
                come = {one[2:] for one in here if one[1] in ("insert", "update_postimage")}
                if (gone - come, come - gone) != (before - after, after - before):
                    raise SystemExit(
                        f"{self.name}: {who} tells version {version} as -{gone} +{come}, and it is -{before - after} +{after - before}"
                    )
            before = after


def overlapping(spark, lakebed, root):
    """A Spark statement held open over our commit rebases or is refused as the rules say, and ours over Spark's."""
    steps = 0
    for case, words, refused in [
        ("another partition", ["append", "{table}", "{a}"], False),
        ("the same partition", ["append", "{table}", "{b}"], True),
        ("rows that it read", ["delete", "{table}", "--where", "p = 'b'"], True),
        ("a property", ["set", "{table}", "owner=me"], True),
    ]:
        path = str(root / f"held-{steps}")
        table = f"delta.`{path}`"
        lakebed.commit("create", path, "--format", "delta", "--schema", HELD, "--partition-by", "p")
        rows = root / "held.jsonl"
        rows.write_text('{"id":1,"p":"a","s":"x"}\n{"id":2,"p":"b","s":"x"}\n{"id":3,"p":"b","s":"x"}\n')
        lakebed.commit("append", path, str(rows))
        (root / "a.jsonl").write_text('{"id":10,"p":"a"}\n')
        (root / "b.jsonl").write_text('{"id":11,"p":"b"}\n')
        command = [word.format(table=path, a=root / "a.jsonl", b=root / "b.jsonl") for word in words]
        flag = root / f"held-{steps}.flag"

        def hold(text, command=command, flag=str(flag), program=lakebed.program):
            try:
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return text
            subprocess.run([program, *command, "--json", "--durability", "none"], check=True, capture_output=True)
            return text

        spark.udf.register("hold", udf(hold, StringType()))
        try:
            spark.sql(f"UPDATE {table} SET s = hold(s) WHERE p = 'b'").collect()
            failed = None
        except Exception as error:  # noqa: BLE001: whatever Spark raises is its answer
            failed = str(error)
        if not flag.exists():
            raise SystemExit(f"held over {case}: the statement never ran ours")
        if (failed is not None) != refused or (failed and "DELTA_" not in failed):
            raise SystemExit(f"held over {case}: refused {refused} was expected, Spark said {failed}")
        steps += 1
    # Ours over Spark's: a transaction that was prepared before Spark's commit.
    path = str(root / "prepared")
    table = f"delta.`{path}`"
    lakebed.commit("create", path, "--format", "delta", "--schema", HELD, "--partition-by", "p")
    lakebed.commit("append", path, str(root / "held.jsonl"))
    files = lakebed.run("show", path, "--files")["files"]
    read = lakebed.run("show", path)["version"]
    spark.sql(f"DELETE FROM {table} WHERE id = 2").collect()
    for partition, expect in (("b", 3), ("a", 0)):
        gone = next(one for one in files if one["partition_values"]["p"] == partition)
        head = {"reads": {"predicates": [[f"p = '{partition}'"]], "files": [gone["path"]]}, "operation": "DELETE"}
        info = {"commitInfo": {"operation": "DELETE", "readVersion": read}}
        remove = {"path": gone["path"], "dataChange": True, "deletionTimestamp": int(time.time() * 1000), "extendedFileMetadata": True}
        remove |= {"partitionValues": gone["partition_values"], "size": gone["size_bytes"]}
        prepared = root / "prepared.json"
        prepared.write_text("\n".join(json.dumps(line) for line in (head, info, {"remove": remove})))
        lakebed.run("commit", path, str(prepared), expect=expect)
        steps += 1
    left = {one["id"] for one in spark.sql(f"SELECT id FROM {table}").collect()}
    if left != {3}:
        raise SystemExit(f"ours over Spark's left {left}")
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the lakebed program")
    parser.add_argument("--jars", required=True, help="the folder with Delta's jars")
    parser.add_argument("--work", required=True, help="an empty folder for the tables")
    parser.add_argument("--all", action="store_true", help="also the tables with several features at once")
    parser.add_argument("--only", action="append", help="a table of the list, or `overlapping`; may be given several times")
    args = parser.parse_args()
    root = Path(args.work).resolve()
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    lakebed = Lakebed(args.program, root)
    spark = session(args.jars, root)
    steps = tables = 0
    for name, properties, partitioned, extras in TABLES:
        if name in args.only if args.only else args.all or "more" not in extras:
            start = time.monotonic()
            world = World(spark, lakebed, root, name, properties, partitioned, extras)
            world.history()
            print(f"{name}: {world.steps} steps, rows equal after each ({time.monotonic() - start:.0f} s)", flush=True)
            steps, tables = steps + world.steps, tables + 1
    if not args.only or "overlapping" in args.only:
        count = overlapping(spark, lakebed, root)
        print(f"overlapping: {count} statements held or prepared over the other's commit, answered as the rules say", flush=True)
    spark.stop()
    print(f"spark: {tables} tables, {steps} steps, no difference", flush=True)


if __name__ == "__main__":
    sys.exit(main())
