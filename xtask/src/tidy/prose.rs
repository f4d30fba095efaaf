//! What no text of the project may hold: places that exist on one machine alone.

use super::Finding;

/// Beginnings of absolute paths. Each is cut in two, or this file would break its own rule.
const PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("\\Us", "ers\\"),
];

/// What names a package registry other than by default.
const REGISTRIES: &[&str] = &[
    concat!("--index", "-url"),
    concat!("--extra-index", "-url"),
    concat!("sparse", "+http"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("pypi.", "org/simple"),
    concat!("files.", "pythonhosted.org"),
    concat!("registry.", "npmjs.org"),
    concat!("proxy.", "golang.org"),
];

/// Checks one text file of any kind.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = || format!("{path}:{}", index + 1);
        if let Some(pattern) = PATHS.iter().find(|pattern| holds_path(line, pattern)) {
            findings.push(Finding::new(place(), format!("`{pattern}…` is a path of one machine; make it relative")));
        }
        if let Some(pattern) = REGISTRIES.iter().find(|pattern| line.contains(**pattern)) {
            findings.push(Finding::new(place(), format!("`{pattern}` names a registry host; rely on the default")));
        }
    }
    findings
}

/// Whether the pattern begins a path, rather than standing inside a longer relative one or a URL.
fn holds_path(line: &str, pattern: &str) -> bool {
    line.match_indices(pattern).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | ')' | ']' | '*'))
    })
}
