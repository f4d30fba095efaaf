//! A checkpoint of every form, alone: it is a version or it is refused.
#![no_main]

use lakebed_fuzz::{load, look, only_what_escapes};
use libfuzzer_sys::fuzz_target;

const FORMS: [&str; 4] = [
    "_delta_log/00000000000000000003.checkpoint.parquet",
    "_delta_log/00000000000000000003.checkpoint.0000000001.0000000001.parquet",
    "_delta_log/00000000000000000003.checkpoint.00000000-0000-4000-8000-000000000001.parquet",
    "_delta_log/00000000000000000003.checkpoint.00000000-0000-4000-8000-000000000001.json",
];

const TOP: &str = r#"{"checkpointMetadata":{"version":3}}
{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"t","schemaString":"","partitionColumns":[],"configuration":{}}}
{"sidecar":{"path":"s.parquet","sizeInBytes":0,"modificationTime":1}}"#;

fuzz_target!(init: only_what_escapes(), |bytes: &[u8]| {
    for name in FORMS {
        if let Some(snapshot) = load(&[(name, bytes)]) {
            look(&snapshot);
        }
    }
    if let Some(snapshot) = load(&[(FORMS[3], TOP.as_bytes()), ("_delta_log/_sidecars/s.parquet", bytes)]) {
        look(&snapshot);
    }
});
