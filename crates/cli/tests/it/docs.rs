//! Every command that a page shows is one: the program has it with those options, the chore, package, test or script is there.

use crate::common::Lakebed;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page for people, by its path.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/rules", "examples/ray", "examples/spark", "fuzz"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "md") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// The commands of a page: lines of its blocks of commands or plain text, and spans of code.
pub(crate) fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, block) in page.split("```").enumerate() {
        if at % 2 == 1 {
            let (language, lines) = block.split_once('\n').unwrap_or((block, ""));
            if matches!(language, "" | "sh" | "text") {
                found.extend(lines.lines().flat_map(|line| line.split(" && ")).map(str::to_owned));
            }
            continue;
        }
        found.extend(block.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")));
    }
    found.iter().map(|command| command.split(" # ").next().unwrap_or_default().trim().to_owned()).collect()
}

pub(crate) fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

/// What stands behind `--name` or `-n`, in each place.
fn values<'a>(words: &[&'a str], names: &[&str]) -> Vec<&'a str> {
    let pairs = words.windows(2).filter(|pair| names.contains(&pair[0]));
    pairs.map(|pair| pair[1]).collect()
}

/// What is wrong with a call of the program.
fn wrong_with_program(lakebed: &Lakebed, words: &[&str]) -> Option<String> {
    let command = words.get(1)?;
    if !command.starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let help = lakebed.run(&["help", command]);
    if help.code != 0 {
        return Some(format!("there is no command {command}"));
    }
    let options = words.iter().filter(|word| word.starts_with("--"));
    let mut known = options.map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-'));
    // Of commands with commands of their own the help is further down.
    let deeper: String = words
        .get(3)
        .into_iter()
        .chain(words.get(2))
        .map(|inner| lakebed.run(&["help", command, inner]).stdout)
        .collect();
    let unknown = known.find(|name| !help.stdout.contains(*name) && !deeper.contains(*name))?;
    Some(format!("{command} has no option {unknown}"))
}

/// What is wrong with a call of cargo.
fn wrong_with_cargo(words: &[&str], manifests: &str, chores: &str) -> Option<String> {
    let named = values(words, &["-p", "--package", "--bench", "--bin", "--example"]);
    let is_there = |name: &&str| name.contains('<') || manifests.contains(&format!("name = \"{name}\""));
    if let Some(name) = named.iter().find(|name| !is_there(name)) {
        return Some(format!("nothing is called {name}"));
    }
    let missing = |path: &str| (!root().join(path).is_file()).then(|| format!("{path} is not there"));
    if let [manifest] = values(words, &["--manifest-path"]).as_slice() {
        return missing(manifest);
    }
    if let Some(problem) = wrong_with_tests(words) {
        return Some(problem);
    }
    match words {
        [_, _, "fuzz", "run", target, ..] => missing(&format!("fuzz/fuzz_targets/{target}.rs")),
        [_, "xtask", chore, ..] if chore.starts_with(|c: char| c.is_ascii_lowercase()) => {
            (!chores.contains(&format!("\"{chore}\""))).then(|| format!("there is no chore {chore}"))
        }
        _ => None,
    }
}

/// What is wrong with tests that are named: no test of the package, or module of tests, has the name in its own.
fn wrong_with_tests(words: &[&str]) -> Option<String> {
    let at = words.iter().position(|word| *word == "test")?;
    let packages = values(words, &["-p"]);
    let [package] = packages.as_slice() else { return None };
    let name = *words[at..].iter().take_while(|word| **word != "--").last()?;
    if [*package, "it"].contains(&name) || name.starts_with('-') || package.contains('<') {
        return None;
    }
    let folder = root().join("crates").join(package.trim_start_matches("lakebed-")).join("tests/it");
    (!has_test(&folder, name)).then(|| format!("{package} has no test that is called {name}"))
}

/// Whether a test below a folder, or a module of tests, has this in its name.
fn has_test(folder: &Path, name: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return has_test(&path, name);
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        text.lines().any(|line| (line.contains("fn ") || line.contains("mod ")) && line.contains(name))
    })
}

/// What is wrong with a script that is called: it is not there, or has no such option.
fn wrong_with_script(words: &[&str]) -> Option<String> {
    let script = words.iter().find(|word| word.ends_with(".py"))?;
    let Ok(text) = std::fs::read_to_string(root().join(script)) else { return Some(format!("{script} is not there")) };
    let prepared = std::fs::read_to_string(root().join("examples/prepared.py")).unwrap();
    let unknown =
        words.iter().find(|word| word.starts_with("--") && !text.contains(**word) && !prepared.contains(**word))?;
    Some(format!("{script} has no option {unknown}"))
}

/// Whether this is our program, found by its name or at its place.
pub(crate) fn is_program(word: &str) -> bool {
    word == "lakebed" || word.ends_with("/release/lakebed")
}

#[test]
fn every_command_of_the_pages_is_one() {
    let lakebed = Lakebed::new();
    let mut manifests = std::fs::read_to_string(root().join("benches/Cargo.toml")).unwrap();
    for entry in std::fs::read_dir(root().join("crates")).unwrap().flatten() {
        manifests += &std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
    }
    let chores = std::fs::read_to_string(root().join("xtask/src/main.rs")).unwrap();
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for (page, text) in pages() {
        for command in commands(&text) {
            let words: Vec<&str> =
                words(&command).into_iter().skip_while(|word| word.starts_with("LAKEBED_")).collect();
            let problem = match words.as_slice() {
                [program, ..] if is_program(program) => wrong_with_program(&lakebed, &words),
                ["cargo", ..] => wrong_with_cargo(&words, &manifests, &chores),
                [python, ..] if python.ends_with("python") => wrong_with_script(&words),
                _ => continue,
            };
            wrong.extend(problem.map(|problem| format!("{page}: `{command}`: {problem}")));
            seen.insert(command);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(seen.len() > 30, "the pages show commands: {seen:?}");
}
