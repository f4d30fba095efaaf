//! Which names an object may have.

use crate::StoreError;

/// Checks a name against the rules that [`crate::Store`] states: relative, `/`-separated, no empty, `.` or `..` part, and no
/// ASCII control character (object stores refuse or mangle those).
///
/// Every store of this crate calls it before it touches anything, so a name can never leave the root.
///
/// # Errors
/// [`StoreError::Unusable`] with the reason.
pub fn check_name(name: &str) -> Result<(), StoreError> {
    match problem_of(name) {
        None => Ok(()),
        Some(problem) => Err(StoreError::Unusable {
            url: format!("object name {name:?}"),
            problem: problem.to_owned(),
            advice: "use a relative name like folder/object".to_owned(),
        }),
    }
}

/// Checks a folder for a listing: a name, or empty for the root. One `/` at the end is accepted and dropped.
pub(crate) fn check_folder(prefix: &str) -> Result<&str, StoreError> {
    let folder = prefix.strip_suffix('/').unwrap_or(prefix);
    if !prefix.is_empty() {
        check_name(folder)?;
    }
    Ok(folder)
}

fn problem_of(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return Some("it holds a control character");
    }
    for part in name.split('/') {
        match part {
            "" => return Some("it starts or ends with `/` or holds `//`"),
            "." | ".." => return Some("it holds a `.` or `..` part"),
            _ => {}
        }
    }
    None
}
