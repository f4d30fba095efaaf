use super::{edges, field_cases, lock, prose, rules_docs, source};

fn problems(findings: Vec<super::Finding>) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

/// A package, and the name and kind of each that it depends on.
type Sketch<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)]);

/// `cargo metadata` in short.
fn metadata(packages: &[Sketch<'_>]) -> String {
    let packages: Vec<_> = packages
        .iter()
        .map(|(name, on)| {
            let on: Vec<_> = on.iter().map(|(name, kind)| serde_json::json!({"name": name, "kind": kind})).collect();
            serde_json::json!({"name": name, "dependencies": on})
        })
        .collect();
    serde_json::json!({ "packages": packages }).to_string()
}

fn edge_problems(packages: &[Sketch<'_>]) -> Vec<String> {
    problems(edges::check(&edges::declared(&metadata(packages)).unwrap()))
}

#[test]
fn edges_that_the_table_allows_pass() {
    let found = edge_problems(&[
        ("lakebed-naming", &[("thiserror", None)]),
        ("lakebed-transaction", &[("lakebed-naming", None)]),
        ("lakebed-cli", &[("lakebed-naming", None), ("lakebed-transaction", None)]),
        ("xtask", &[("serde_json", None)]),
    ]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn an_edge_that_points_up_is_named_whatever_its_kind_but_development() {
    let found = edge_problems(&[
        ("lakebed-naming", &[("lakebed-transaction", None)]),
        ("lakebed-transaction", &[("lakebed-storage", Some("build"))]),
        ("lakebed-sql", &[("lakebed-storage", Some("dev"))]),
        ("lakebed-storage", &[]),
    ]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("lakebed-naming: must not depend on `lakebed-transaction`"));
    assert!(found[1].starts_with("lakebed-transaction: must not depend on `lakebed-storage`"));
}

#[test]
fn the_two_formats_must_not_know_each_other() {
    let found = edge_problems(&[("lakebed-lance", &[("lakebed-delta", None)]), ("lakebed-delta", &[])]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn an_edge_that_is_declared_for_two_targets_is_named_once() {
    let found = edge_problems(&[
        ("lakebed-sql", &[("lakebed-data", None), ("lakebed-data", Some("build"))]),
        ("lakebed-data", &[]),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_crate_outside_the_table_and_a_chore_that_draws_the_product_in_are_named() {
    let found =
        edge_problems(&[("lakebed-extra", &[]), ("xtask", &[("lakebed-naming", None)]), ("lakebed-naming", &[])]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("lakebed-extra: the crate is not in the table"));
    assert!(found[1].starts_with("xtask: must not depend on"));
}

#[test]
fn metadata_that_is_not_metadata_is_an_error() {
    for text in ["", "{}", r#"{"packages":[{}]}"#, r#"{"packages":[{"name":"a"}]}"#] {
        assert!(edges::declared(text).is_err(), "{text}");
    }
}

#[test]
fn the_pure_crates_are_the_seven() {
    let packages: Vec<_> = ["naming", "transaction", "conflict", "commit", "lance", "delta", "sql", "storage", "table"]
        .map(|name| format!("lakebed-{name}"))
        .into();
    let packages: Vec<Sketch<'_>> = packages.iter().map(|name| (name.as_str(), &[][..])).collect();
    let declared = edges::declared(&metadata(&packages)).unwrap();
    let pure: Vec<_> = edges::pure(&declared).collect();
    assert_eq!(pure, packages.iter().take(7).map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn a_runtime_below_a_pure_crate_is_named_with_the_way_to_it() {
    let tree = "0lakebed-delta v0.1.0 (somewhere)\n1bytes v1.0.0\n1parquet v58.0.0\n2bytes v1.0.0 (*)\n2tokio v1.0.0\n\
                1tokio-like v1.0.0\n";
    let found = problems(edges::check_below("lakebed-delta", tree));
    assert_eq!(found, ["lakebed-delta: a pure crate must not have `tokio` below it: lakebed-delta → parquet → tokio"]);
    assert!(edges::check_below("lakebed-delta", "0lakebed-delta v0.1.0\n1bytes v1.0.0\n\n").is_empty());
}

#[test]
fn a_second_copy_and_a_strange_source_are_named() {
    let one = "[[package]]\nname = \"parquet\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    assert!(lock::check(one).is_empty());
    assert_eq!(lock::check(&one.repeat(2)).len(), 1);
    let strange = "source = \"git+https://example.org/x\"\n";
    assert_eq!(lock::check(strange).len(), 1);
}

#[test]
fn a_product_file_needs_a_doc_and_a_test_file_does_not() {
    let bare = "use std::fmt;\n";
    assert_eq!(source::check("crates/x/src/a.rs", bare).len(), 1);
    assert!(source::check("crates/x/tests/it/a.rs", bare).is_empty());
    assert!(source::check("crates/x/src/a/tests.rs", bare).is_empty());
    for good in ["//! Doc.\n", "\n// A remark.\n#![warn(x)]\n//! Doc.\n"] {
        assert!(source::check("crates/x/src/a.rs", good).is_empty(), "{good}");
    }
    for bad in ["", "// A remark.\n", "/// Doc of an item.\n//! Late.\n"] {
        assert_eq!(source::check("crates/x/src/a.rs", bad).len(), 1, "{bad}");
    }
}

#[test]
fn a_long_product_file_is_named_unless_it_is_generated() {
    let lines = |count: usize| "//! Doc.\n".repeat(count);
    assert!(source::check("crates/x/src/a.rs", &lines(600)).is_empty());
    assert_eq!(source::check("crates/x/src/a.rs", &lines(601)).len(), 1);
    assert!(source::check("crates/x/tests/it/a.rs", &lines(601)).is_empty());
    let generated = format!("// @{} by a tool\n{}", "generated", lines(700));
    assert!(source::check("crates/x/src/a.rs", &generated).is_empty());
}

#[test]
fn banned_words_are_named_in_product_and_tests_alike() {
    let banned = [
        concat!("#[al", "low(dead_code)]"),
        concat!("#![al", "low(dead_code)]"),
        concat!("    to", "do!()"),
        concat!("    unimple", "mented!()"),
        concat!("#[ign", "ore]"),
        concat!("#[ign", "ore = \"slow\"]"),
        concat!("/// ```ign", "ore"),
        concat!("// TO", "DO: more"),
    ];
    for line in banned {
        for path in ["crates/x/src/a.rs", "crates/x/tests/it/a.rs"] {
            let found = problems(source::check(path, &format!("//! Doc.\n{line}\n")));
            assert_eq!(found.len(), 1, "{line}: {found:?}");
            assert!(found[0].starts_with(&format!("{path}:2: ")), "{found:?}");
        }
    }
    assert!(source::check("README.md", banned[2]).is_empty());
    assert!(source::check("crates/x/src/a.rs", "//! Doc.\n#[expect(dead_code, reason = \"x\")]\n").is_empty());
}

#[test]
fn a_path_of_one_machine_is_named_and_a_longer_path_is_not() {
    for bad in [
        concat!("see /ho", "me/me/x"),
        concat!("\"/wo", "rk/x\""),
        concat!("file:///ro", "ot/x"),
        concat!("/Us", "ers/me"),
        concat!("C:\\Us", "ers\\me"),
    ] {
        assert_eq!(prose::check("docs/a.md", bad).len(), 1, "{bad}");
    }
    for good in [
        concat!("../wo", "rk/x"),
        concat!("https://example.org/ho", "me/x"),
        concat!("$root/wo", "rk/x"),
        "/tmp/x",
        concat!("${ROOT}/wo", "rk/x"),
    ] {
        assert!(prose::check("docs/a.md", good).is_empty(), "{good}");
    }
}

#[test]
fn a_registry_host_is_named() {
    assert_eq!(prose::check("a.txt", concat!("--index", "-url x")).len(), 1);
    assert!(prose::check("a.txt", "pyarrow==26.0.0").is_empty());
}

#[test]
fn a_stale_rule_table_is_named() {
    assert_eq!(rules_docs::policy_of("docs/rules/lance.md"), Some("lance"));
    for other in ["docs/rules/README.md", "docs/lance.md", "docs/rules/lance.txt", "docs/rules/a/b.md"] {
        assert_eq!(rules_docs::policy_of(other), None, "{other}");
    }
    assert_eq!(rules_docs::compare("lance", "a\n", "a\n"), None);
    assert!(rules_docs::compare("lance", "a\n", "b\n").unwrap().to_string().contains("docs/rules/lance.md"));
}

#[test]
fn a_field_case_names_tests_that_are_there_or_says_what_is_missing() {
    let page =
        "| # | |\n|---|---|\n| 1 | `a.rs::one`, `a.rs::two` |\n| 2 | To come: a lock |\n| 3 | |\n| 4 | `b.rs::one` |\n";
    let text = |path: &str| (path == "a.rs").then_some("fn one() {}\nasync fn two_and_more() {}");
    let found = problems(field_cases::missing_tests(page, text));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("docs/failures.md:3: case 1: there is no test `two` in `a.rs`"), "{found:?}");
    assert!(found[1].contains("case 3 has no test") && found[2].contains("`b.rs`"), "{found:?}");
}
