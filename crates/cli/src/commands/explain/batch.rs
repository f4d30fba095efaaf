//! Many questions, one JSON line each.

use super::case::{Answer, Bases, Case};
use crate::error::CliError;
use crate::exit::Exit;
use lakebed_conflict::maxcompute::Compaction;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Answers every line, in order; a case that cannot be judged gives its error, and the rest go on.
pub(super) async fn run(file: &Path, rebased: bool) -> Result<Exit, CliError> {
    let input = File::open(file).map_err(|source| CliError::file(file, source))?;
    let mut bases = Bases::default();
    let mut out = BufWriter::new(io::stdout().lock());
    for line in BufReader::new(input).lines() {
        let line = line.map_err(|source| CliError::file(file, source))?;
        if !line.trim().is_empty() {
            writeln!(out, "{}", answer(&line, rebased, &mut bases).await).map_err(CliError::Output)?;
        }
    }
    out.flush().map_err(CliError::Output)?;
    Ok(Exit::Done)
}

async fn answer(line: &str, rebased: bool, bases: &mut Bases) -> Value {
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return json!({"id": Value::Null, "error": format!("this line is not JSON: {error}")}),
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let judged = match case_of(&value, rebased) {
        Ok(case) => case.judge(bases).await,
        Err(problem) => Err(CliError::usage(problem, "see the form of a case in `lakebed help explain`")),
    };
    match judged {
        Ok(answer) => with_id(id, &answer),
        Err(error) => json!({"id": id, "error": error.to_string()}),
    }
}

fn with_id(id: Value, answer: &Answer) -> Value {
    let mut out = serde_json::Map::new();
    out.insert("id".to_owned(), id);
    if let Value::Object(document) = answer.document() {
        out.extend(document);
    }
    Value::Object(out)
}

fn case_of(value: &Value, rebased: bool) -> Result<Case, String> {
    let text = |key: &str| match value.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) | None => Err(format!("`{key}` is missing or is no text")),
    };
    let landed = match value.get("landed") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(paths)) => paths
            .iter()
            .map(|path| path.as_str().map(PathBuf::from).ok_or_else(|| "`landed` holds what is no text".to_owned()))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err("`landed` is no array".to_owned()),
    };
    let base = match value.get("base") {
        None | Some(Value::Null) => None,
        Some(Value::String(path)) => Some(PathBuf::from(path)),
        Some(_) => return Err("`base` is no text".to_owned()),
    };
    let at = match value.get("at") {
        None | Some(Value::Null) => None,
        Some(number) => Some(number.as_u64().ok_or_else(|| "`at` is no version".to_owned())?),
    };
    let compaction = match value.get("compaction") {
        None | Some(Value::Null) => Compaction::Unknown,
        Some(name) if name == "minor" => Compaction::Minor,
        Some(name) if name == "major" => Compaction::Major,
        Some(_) => return Err("`compaction` is neither minor nor major".to_owned()),
    };
    Ok(Case { policy: text("policy")?, ours: PathBuf::from(text("ours")?), landed, base, at, compaction, rebased })
}
