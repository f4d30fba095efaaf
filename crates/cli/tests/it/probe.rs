//! `lakebed probe`, the probe before the first write, and tables on the clouds that run here.

use crate::common::Lakebed;
use crate::scripted::{Condition, Dialect, Server};
use serde_json::json;

const BOTH: [Dialect; 2] = [Dialect::Gcs, Dialect::S3Express];

/// The arguments, and the options that lead to the server.
fn with_server<'a>(args: &[&'a str], options: &'a [String]) -> Vec<&'a str> {
    let options = options.iter().flat_map(|option| ["--storage-option", option.as_str()]);
    args.iter().copied().chain(options).collect()
}

fn place(dialect: Dialect, server: &Server) -> (&'static str, Vec<String>) {
    let endpoint = &server.endpoint;
    match dialect {
        Dialect::Gcs => (
            "gs://bucket/table",
            vec![format!("google_base_url={endpoint}"), "google_bearer_token=meaningless".to_owned()],
        ),
        Dialect::S3Express => (
            "s3://bucket--use1-az4--x-s3/table",
            vec![format!("endpoint={endpoint}"), "aws_skip_signature=true".to_owned(), "region=us-east-1".to_owned()],
        ),
    }
}

#[test]
fn a_disk_keeps_the_promise() {
    let lakebed = Lakebed::new();
    let found = lakebed.json(&["probe", "new/place", "--rounds", "4", "--clients", "8"]);
    assert_eq!(found["create_if_absent"], true, "{found}");
    assert_eq!(found["race_winners"], json!([1, 1, 1, 1]));
    assert_eq!(found["list_sees_new"], true);
    for request in ["create", "list", "get", "put", "delete"] {
        assert!(found["latency_ms"][request].as_f64().is_some_and(|ms| ms > 0.0), "{found}");
    }
    assert!(!lakebed.path("new/place").exists(), "nothing stays");
    let told = lakebed.ok(&["probe", "memory://probed", "--rounds", "2"]).stdout;
    assert!(told.contains("2 races of 32 clients for one object: 0 with several winners"), "{told}");
    assert!(told.contains("commits are safe here"), "{told}");
}

/// Field case 18: what `probe` shows of a server that ignores the condition, or looks first and writes then; with an index it is fit.
#[test]
fn a_server_that_breaks_the_promise_is_told() {
    let lakebed = Lakebed::new();
    for dialect in BOTH {
        let honest = Server::start(dialect, Condition::Honoured);
        let (url, options) = place(dialect, &honest);
        let run = lakebed.run(&with_server(&["probe", url, "--rounds", "2", "--clients", "8", "--json"], &options));
        assert_eq!((run.code, &run.json()["race_winners"]), (0, &json!([1, 1])), "{run:?}");
        assert_eq!(honest.names(), [""; 0]);

        let deaf = Server::start(dialect, Condition::Ignored);
        let (url, options) = place(dialect, &deaf);
        let run = lakebed.run(&with_server(&["probe", url, "--rounds", "2", "--clients", "8", "--json"], &options));
        assert_eq!(run.code, 1, "{run:?}");
        assert_eq!(run.json()["create_if_absent"], false);
        assert_eq!(run.json()["race_winners"], json!([8, 8]));
        let told = lakebed.run(&with_server(&["probe", url, "--rounds", "1"], &options));
        assert!(told.code == 1 && told.stdout.contains("commits would be lost here"), "{told:?}");
        let index = ["probe", url, "--rounds", "2", "--clients", "4", "--index", "sqlite:index.db", "--json"];
        let run = lakebed.run(&with_server(&index, &options));
        assert_eq!((run.code, &run.json()["race_winners"]), (0, &json!([1, 1])), "{run:?}");
        assert_eq!(deaf.names(), [""; 0]);

        let liar = Server::start(dialect, Condition::LookedAt(300));
        let (url, options) = place(dialect, &liar);
        let run = lakebed.run(&with_server(&["probe", url, "--rounds", "1", "--clients", "8", "--json"], &options));
        assert_eq!((run.code, &run.json()["create_if_absent"]), (1, &json!(false)), "{run:?}");
        assert!(run.json()["race_winners"][0].as_u64().unwrap() > 1, "{run:?}");
    }
}

/// Field case 18: nothing is written to such a server, unless somebody insists or an index decides; and reading tries nothing.
#[test]
fn case_18_a_server_that_breaks_the_promise_takes_no_table() {
    let lakebed = Lakebed::new();
    for dialect in BOTH {
        let server = Server::start(dialect, Condition::Ignored);
        let (url, options) = place(dialect, &server);
        let create = ["create", url, "--format", "delta", "--schema", "id long"];
        let told = lakebed.fails(1, &with_server(&create, &options));
        assert!(told.contains("lets two writers create the same object") && told.contains("--index"), "{told}");
        assert_eq!(server.names(), [""; 0]);
        let insisted: Vec<&str> = create.iter().copied().chain(["--no-probe"]).collect();
        lakebed.ok(&with_server(&insisted, &options));
        assert_eq!(server.conditional_puts(), 2 + 1, "the probe of the first, and the version of the second");
        lakebed.ok(&with_server(&["show", url], &options));
        lakebed.ok(&with_server(&["history", url], &options));
        assert_eq!(server.conditional_puts(), 2 + 1);
        let set = ["set", url, "a=b"];
        lakebed.fails(1, &with_server(&set, &options));
        let other = format!("{url}-indexed");
        let indexed = ["create", &other, "--format", "lance", "--schema", "id long", "--index", "sqlite:index.db"];
        lakebed.ok(&with_server(&indexed, &options));
        let shown = lakebed.json(&with_server(&["show", &other, "--index", "sqlite:index.db"], &options));
        assert_eq!(shown["version"], 1);
    }
}

/// Tables of both formats, from creation to a scan, on every server of a cloud's kind that runs here.
#[test]
fn tables_live_on_the_clouds() {
    let lakebed = Lakebed::new();
    lakebed.write("rows.csv", "id,city\n1,Lyon\n2,Oslo\n3,Lyon\n");
    for variable in ["LAKEBED_TEST_S3", "LAKEBED_TEST_AZURE"] {
        let Ok(place) = std::env::var(variable) else {
            println!("skipped: ${variable} names no place");
            continue;
        };
        let place = format!("{place}/cli-{}", std::process::id());
        let delta = format!("{place}/delta");
        lakebed.ok(&["create", &delta, "--format", "delta", "--schema", "id long, city string"]);
        lakebed.ok(&["append", &delta, "rows.csv"]);
        lakebed.ok(&["delete", &delta, "--where", "city = 'Lyon'"]);
        assert_eq!(lakebed.json(&["scan", &delta]), json!([{"id": 2, "city": "Oslo"}]));
        assert_eq!(lakebed.json(&["verify", &delta])["sound"], true);
        let lance = format!("{place}/table.lance");
        lakebed.ok(&["create", &lance, "--format", "lance", "--schema", "id long"]);
        lakebed.ok(&["set", &lance, "a=b"]);
        lakebed.ok(&["tag", &lance, "add", "first", "--version", "1"]);
        assert_eq!(lakebed.json(&["show", &lance])["version"], 2);
        assert_eq!(lakebed.json(&["show", &lance, "--tag", "first"])["version"], 1);
        let bench = format!("{place}/bench");
        let measured = lakebed.json(&["bench", &bench, "--format", "delta", "--writers", "4", "--commits", "5"]);
        assert_eq!((&measured["lost"], &measured["doubled"]), (&json!(0), &json!(0)), "{measured}");
        let probed = lakebed.json(&["probe", &place, "--rounds", "3"]);
        assert_eq!(probed["race_winners"], json!([1, 1, 1]), "{probed}");
    }
}
