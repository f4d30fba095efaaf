//! What was typed and does not fit: exit status 2.

use crate::common::{Lakebed, trips};

#[test]
fn usage_errors_are_told_apart() {
    let lakebed = trips();
    for args in [
        &["delete", "trips", "--where", "nope = 1"][..],
        &["scan", "trips", "--where", "nope = 1"],
        &["scan", "trips", "--select", "id,nope"],
    ] {
        let told = lakebed.fails(2, args);
        assert!(told.contains("nope") && told.contains("id, city, fare"), "{told}");
    }
    lakebed.fails(2, &["delete", "trips", "--where", "id = ("]);
    lakebed.fails(2, &["delete", "trips"]);
    lakebed.fails(2, &["frobnicate"]);
    lakebed.fails(2, &["scan", "trips", "--version", "1", "--timestamp", "-1d"]);
    lakebed.fails(2, &["create", "t", "--format", "delta"]);
    lakebed.fails(2, &["create", "t", "--format", "iceberg", "--schema", "id long"]);
    lakebed.fails(2, &["create", "t", "--format", "delta", "--schema", "id what"]);
    let told = lakebed.fails(2, &["create", "t", "--format", "delta", "--schema", "id long", "--partition-by", "day"]);
    assert!(told.contains("day") && told.contains("id"), "{told}");
    lakebed.fails(2, &["set", "trips", "novalue"]);
    lakebed.fails(2, &["append", "trips", "-", "-"]);
    lakebed.fails(2, &["commit", "trips", "trips.csv"]);
}

#[test]
fn an_unknown_policy_is_a_usage_error() {
    let lakebed = trips();
    lakebed.write("p.json", "");
    for args in [
        &["set", "trips", "a=b"][..],
        &["unset", "trips", "a"],
        &["append", "trips", "trips.csv"],
        &["overwrite", "trips", "trips.csv"],
        &["delete", "trips", "--where", "id = 1"],
        &["truncate", "trips"],
        &["commit", "trips", "p.json"],
        &["create", "other", "--format", "delta", "--schema", "id long"],
        &["create", "other", "--format", "lance", "--schema", "id long"],
    ] {
        let told = lakebed.fails(2, &[args, &["--policy", "nope"]].concat());
        assert!(told.contains("nope"), "{args:?}: {told}");
    }
    lakebed.ok(&["create", "t.lance", "--format", "lance", "--schema", "id long"]);
    let told = lakebed.fails(2, &["set", "t.lance", "a=b", "--policy", "delta"]);
    assert!(told.contains("delta") && told.contains("choose one of lance"), "{told}");
    let told = lakebed.fails(2, &["explain", "--policy", "nope", "--ours", "p.json"]);
    assert!(told.contains("maxcompute"), "{told}");
    // Weaker than what the table promises.
    lakebed.ok(&["set", "trips", "delta.isolationLevel=Serializable"]);
    let told = lakebed.fails(2, &["append", "trips", "trips.csv", "--policy", "delta-snapshot"]);
    assert!(told.contains("weaker"), "{told}");
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 2);
    assert!(!lakebed.path("other").exists());
}

#[test]
fn definitions_that_do_not_fit_are_usage_errors() {
    let lakebed = trips();
    for (format, extra, told) in [
        ("delta", &["--property", "delta.isolationLevel=bad"][..], "Serializable"),
        ("delta", &["--property", "delta.appendOnly=maybe"], "true or false"),
        ("delta", &["--property", "delta.nope=1"], "delta.nope"),
        ("delta", &["--property", "lakebed.policy=nope"], "nope"),
        ("delta", &["--partition-by", "tags"], "tags"),
        ("delta", &["--partition-by", "id,tags,day"], "day"),
        ("lance", &["--partition-by", "id"], "partition"),
    ] {
        let args = ["create", "other", "--format", format, "--schema", "id long, tags array<string>"];
        let message = lakebed.fails(2, &[&args[..], extra].concat());
        assert!(message.contains(told), "{extra:?}: {message}");
    }
    assert!(!lakebed.path("other").exists());
    let told = lakebed.fails(2, &["set", "trips", "delta.appendOnly=maybe"]);
    assert!(told.contains("true or false"), "{told}");
    lakebed.fails(2, &["unset", "trips", "delta.nope"]);
    // What is in the way is no matter of the command line.
    lakebed.fails(1, &["set", "nowhere", "a=b"]);
}

#[test]
fn files_without_a_known_ending_are_usage_errors() {
    let lakebed = trips();
    for name in ["rows.foo", "rows", "-"] {
        let told = lakebed.fails(2, &["scan", "trips", "--output", name]);
        assert!(told.contains(".parquet") && !told.contains("standard input"), "{told}");
        // Known before the table is looked for.
        lakebed.fails(2, &["scan", "nowhere", "--output", name]);
    }
    let told = lakebed.fails(2, &["append", "trips", "rows.foo"]);
    assert!(told.contains("rows.foo") && told.contains("standard input"), "{told}");
    lakebed.fails(2, &["create", "other", "--format", "delta", "--like", "rows.foo"]);
    assert!(!lakebed.path("rows.foo").exists());
}

#[test]
fn an_unknown_function_is_told_before_anything_is_read() {
    let lakebed = trips();
    for predicate in ["frob(id) = 1", "id = 1 OR NOT (city LIKE 'L%' AND frob(id) > 2)", "rand() < 1"] {
        for args in [
            &["scan", "trips"][..],
            &["scan", "nowhere"],
            &["scan", "trips", "--limit", "0"],
            &["delete", "trips"],
            &["truncate", "trips"],
            &["overwrite", "trips", "trips.csv"],
        ] {
            let told = lakebed.fails(2, &[args, &["--where", predicate]].concat());
            assert!(told.contains("function"), "{args:?}: {told}");
            assert!(!told.contains("snappy"), "no data file was read: {told}");
        }
    }
    assert_eq!(lakebed.json(&["scan", "trips", "--where", "upper(city) = 'LYON'"]).as_array().unwrap().len(), 2);
}

#[test]
fn predicates_may_begin_with_a_hyphen() {
    let lakebed = trips();
    let rows = lakebed.json(&["scan", "trips", "--where", "-id = -2"]);
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["city"]), (1, &"Oslo".into()));
    let rows = lakebed.json(&["scan", "trips", "--where", "-5 < -id"]);
    assert_eq!(rows.as_array().unwrap().len(), 3);
    lakebed.write("lyon.csv", "id,city,fare\n1,Lyon,1\n");
    lakebed.ok(&["overwrite", "trips", "lyon.csv", "--where", "-id = -1"]);
    lakebed.ok(&["delete", "trips", "--where", "-id = -2"]);
    lakebed.ok(&["truncate", "trips", "--where", "-id = -3"]);
    let rows = lakebed.json(&["scan", "trips"]);
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["fare"]), (1, &1.0.into()));
}

#[test]
fn a_statement_is_called_as_it_was_typed() {
    let lakebed = Lakebed::new();
    lakebed.ok(&["create", "t.lance", "--format", "lance", "--schema", "id long"]);
    for (statement, args) in
        [("truncate", &["truncate", "t.lance"][..]), ("delete", &["delete", "t.lance", "--where", "id = 1"])]
    {
        let told = lakebed.fails(1, args);
        assert!(told.contains(&format!("{statement} on a lance table")) && told.contains("lance-data"), "{told}");
    }
}

#[test]
fn options_of_the_store_are_not_repeated() {
    let lakebed = trips();
    for option in ["hunter2", "=hunter2"] {
        let told = lakebed.fails(2, &["show", "trips", "--storage-option", option]);
        assert!(told.contains("--storage-option") && told.contains("key=value"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
    let told = lakebed.fails(1, &["show", "s3://bucket/table", "--storage-option", "frob=hunter2"]);
    assert!(told.contains("frob") && !told.contains("hunter2"), "{told}");
}

/// An apostrophe without its partner is a mistake, whatever Spark prints into its log.
#[test]
fn an_unclosed_quote_changes_nothing() {
    let lakebed = trips();
    for command in [
        &["delete", "trips", "--where", "city <> 'town"][..],
        &["update", "trips", "--set", "id = 1", "--where", "city <> 'city"],
        &["scan", "trips", "--where", "city <> 'city"],
        &["scan", "trips", "--where", "city#1 = Lyon"],
    ] {
        let run = lakebed.run(command);
        assert!(run.code != 0 && run.stdout.is_empty(), "{command:?}: {run:?}");
    }
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 1);
}
