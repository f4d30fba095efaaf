//! Listings.

use super::{Bench, Violation};

/// In byte order: `-` and `.` sort before `/`, `0` after it, so a folder stands between files with the same beginning.
const NAMES: [&str; 12] = ["B", "a", "a-b", "a.b", "a/0", "a/b/c", "a/b/d", "a/z", "a0", "b/1", "b/10", "b/2"];

pub(super) async fn run(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("listing what is not there is empty");
    expect(bench, "list/none", None, usize::MAX, &[]).await?;
    // A file and a folder of one name cannot stand side by side on a disk, so `a` is left out here.
    let names: Vec<&str> = NAMES.into_iter().filter(|name| *name != "a").collect();
    for name in names.iter().rev() {
        bench.put(&bench.name(&format!("list/{name}")), name.as_bytes()).await?;
    }
    bench.put(&bench.name("list-beside/x"), b"").await?;
    bench.put(&bench.name("lis"), b"").await?;
    bench.check("a listing is whole, recursive, in byte order, and of that folder only");
    expect(bench, "list", None, usize::MAX, &names).await?;
    expect(bench, "list/", None, usize::MAX, &names).await?;
    expect(bench, "list/a", None, usize::MAX, &["a/0", "a/b/c", "a/b/d", "a/z"]).await?;
    expect(bench, "list/b/1", None, usize::MAX, &[]).await?;
    sizes(bench).await?;
    limits(bench, &names).await?;
    afters(bench, &names).await?;
    root(bench).await
}

async fn sizes(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("a listing says what head says");
    for listed in bench.ok("list", bench.store.list(&bench.name("list"), None, usize::MAX).await)? {
        let head = bench.ok("head", bench.store.head(&listed.name).await)?;
        bench.same("size", &head.as_ref().map(|head| head.size_bytes), &Some(listed.size_bytes))?;
        // Some stores list whole seconds and head finer ones, or the other way round.
        let apart_ms = head.map_or(i64::MAX, |head| (head.modified_ms - listed.modified_ms).abs());
        if apart_ms > 1_000 {
            return Err(
                bench.broken(format!("{}: modified times of list and head are {apart_ms} ms apart", listed.name))
            );
        }
    }
    Ok(())
}

async fn limits(bench: &mut Bench, names: &[&str]) -> Result<(), Violation> {
    bench.check("a limit cuts the listing, and fewer than the limit means the end");
    for limit in 0..=names.len() + 1 {
        expect(bench, "list", None, limit, &names[..limit.min(names.len())]).await?;
    }
    bench.check("paging by the last name meets every object once");
    for page in 1..=names.len() {
        let mut seen: Vec<String> = Vec::new();
        loop {
            let after = seen.last().cloned();
            let listed = bench.ok("list", bench.store.list(&bench.name("list"), after.as_deref(), page).await)?;
            let last = listed.len() < page;
            seen.extend(listed.into_iter().map(|listed| listed.name));
            if last || seen.len() > names.len() {
                break;
            }
        }
        let wanted: Vec<String> = names.iter().map(|name| bench.name(&format!("list/{name}"))).collect();
        bench.same(&format!("pages of {page}"), &seen, &wanted)?;
    }
    Ok(())
}

async fn afters(bench: &mut Bench, names: &[&str]) -> Result<(), Violation> {
    bench.check("`after` is exclusive and need not be the name of an object");
    let bounds = [
        "", "A", "B", "a", "a-b", "a.b", "a/", "a/0", "a/b", "a/b/", "a/b/c", "a/b/c/x", "a/bb", "a/z", "a0",
        "a\u{fc}", "b", "b/1", "b/2", "c",
    ];
    for after in bounds {
        let wanted: Vec<&str> = names.iter().copied().filter(|name| *name > after).collect();
        let bound = bench.name(&format!("list/{after}"));
        expect(bench, "list", Some(&bound), usize::MAX, &wanted).await?;
        expect(bench, "list", Some(&bound), 2, &wanted[..wanted.len().min(2)]).await?;
        let below: Vec<&str> = wanted.iter().copied().filter(|name| name.starts_with("a/")).collect();
        expect(bench, "list/a", Some(&bound), usize::MAX, &below).await?;
    }
    bench.check("`after` before or behind the folder takes all or nothing");
    let before = bench.name("lis");
    expect(bench, "list", Some(&before), usize::MAX, names).await?;
    expect(bench, "list", Some(""), usize::MAX, names).await?;
    let behind = bench.name("list0");
    expect(bench, "list", Some(&behind), usize::MAX, &[]).await?;
    expect(bench, "list", Some("~"), usize::MAX, &[]).await
}

async fn root(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("the root can be listed");
    let listed = bench.ok("list", bench.store.list("", Some(&bench.name("list/b")), 3).await)?;
    let got: Vec<&str> = listed.iter().map(|listed| listed.name.as_str()).collect();
    let wanted = ["list/b/1", "list/b/10", "list/b/2"].map(|name| bench.name(name));
    bench.same("the root after b", &got, &wanted.each_ref().map(String::as_str).to_vec())
}

async fn expect(
    bench: &Bench,
    folder: &str,
    after: Option<&str>,
    limit: usize,
    wanted: &[&str],
) -> Result<(), Violation> {
    let what = format!("list {folder:?} after {after:?} limit {limit}");
    let listed = bench.ok(&what, bench.store.list(&bench.name(folder), after, limit).await)?;
    let got: Vec<String> = listed.into_iter().map(|listed| listed.name).collect();
    let wanted: Vec<String> = wanted.iter().map(|name| bench.name(&format!("list/{name}"))).collect();
    bench.same(&what, &got, &wanted)
}
