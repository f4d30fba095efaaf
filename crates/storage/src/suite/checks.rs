//! Objects one at a time.

use super::{Bench, Violation};
use crate::Create;
use std::ops::Range;

/// Names as engines and people write them: nothing of this may be encoded, decoded, folded or normalised on the way.
pub(super) const ODD_NAMES: [&str; 14] = [
    "%.txt",
    "a%20b",
    "a b",
    "a+b",
    "[x]",
    "c#x",
    "ü",
    "u\u{308}",
    "日本/語",
    "p=1%2F2/x~y",
    "q?r&s=t",
    "{\"'}^`|<>",
    "Case",
    "case",
];

pub(super) async fn run(bench: &mut Bench) -> Result<(), Violation> {
    absent(bench).await?;
    creates(bench).await?;
    overwrites(bench).await?;
    ranges(bench).await?;
    copies(bench).await?;
    deletes(bench).await?;
    names(bench).await
}

async fn absent(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("what is not there is none, not an error");
    let name = bench.name("absent/x");
    bench.reads(&name, None).await?;
    let ranged = bench.ok("get_range", bench.store.get_range(&name, 0..1).await)?;
    bench.same("get_range of nothing", &ranged, &None)?;
    let ranged = bench.ok("get_range", bench.store.get_range(&name, 0..0).await)?;
    bench.same("empty get_range of nothing", &ranged, &None)?;
    let head = bench.ok("head", bench.store.head(&name).await)?;
    bench.same("head of nothing", &head, &None)?;
    bench.check("a folder is no object");
    bench.put(&bench.name("folder/x"), b"1").await?;
    bench.reads(&bench.name("folder"), None).await?;
    let head = bench.ok("head", bench.store.head(&bench.name("folder")).await)?;
    bench.same("head of a folder", &head, &None)
}

async fn creates(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("create where nothing stands answers Created and stores the bytes");
    let name = bench.name("create/deep/er/x");
    bench.creates(&name, b"first", Create::Created).await?;
    bench.reads(&name, Some(b"first")).await?;
    let head = bench.ok("head", bench.store.head(&name).await)?;
    let Some(head) = head else {
        return Err(bench.broken("head finds nothing after a create"));
    };
    bench.same("size", &head.size_bytes, &5)?;
    bench.same("name", &head.name, &name)?;
    // 2020 to 2100: seconds or microseconds in place of milliseconds fall outside.
    if !(1_577_836_800_000..4_102_444_800_000).contains(&head.modified_ms) {
        return Err(
            bench.broken(format!("modified_ms {} is no time of this century in milliseconds", head.modified_ms))
        );
    }
    bench.check("create where something stands answers Exists and keeps the old bytes");
    bench.creates(&name, b"second", Create::Exists).await?;
    bench.creates(&name, b"first", Create::Exists).await?;
    bench.reads(&name, Some(b"first")).await?;
    bench.put(&bench.name("create/put"), b"put").await?;
    bench.creates(&bench.name("create/put"), b"created", Create::Exists).await?;
    bench.reads(&bench.name("create/put"), Some(b"put")).await?;
    bench.check("an empty object is an object");
    let empty = bench.name("create/empty");
    bench.creates(&empty, b"", Create::Created).await?;
    bench.reads(&empty, Some(b"")).await?;
    bench.creates(&empty, b"", Create::Exists).await?;
    bench.check("create after delete answers Created");
    bench.ok("delete", bench.store.delete(&empty).await)?;
    bench.creates(&empty, b"again", Create::Created).await?;
    bench.reads(&empty, Some(b"again")).await
}

async fn overwrites(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("put replaces the whole object");
    let name = bench.name("put/x");
    bench.put(&name, b"a longer first object").await?;
    bench.put(&name, b"short").await?;
    bench.reads(&name, Some(b"short")).await?;
    let large: Vec<u8> = (0..3_000_000_u32).map(|i| i.to_le_bytes()[1]).collect();
    bench.put(&name, &large).await?;
    let got = bench.ok("get", bench.store.get(&name).await)?;
    if got.as_deref() != Some(large.as_slice()) {
        return Err(bench.broken("an object of 3,000,000 bytes came back changed"));
    }
    Ok(())
}

async fn ranges(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("get_range answers the bytes that are there");
    let name = bench.name("range/x");
    bench.put(&name, b"0123456789").await?;
    let cases: [(Range<u64>, &[u8]); 8] = [
        (0..10, b"0123456789"),
        (2..5, b"234"),
        (9..10, b"9"),
        (7..20, b"789"),
        (0..u64::MAX, b"0123456789"),
        (4..4, b""),
        (10..12, b""),
        (100..200, b""),
    ];
    for (range, wanted) in cases {
        let what = format!("get_range {range:?} of ten bytes");
        let got = bench.ok(&what, bench.store.get_range(&name, range).await)?;
        bench.same(&what, &got.as_deref(), &Some(wanted))?;
    }
    bench.put(&name, b"").await?;
    let got = bench.ok("get_range", bench.store.get_range(&name, 0..4).await)?;
    bench.same("get_range of an empty object", &got.as_deref(), &Some(b"".as_slice()))
}

async fn copies(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("copy overwrites its target and leaves its source");
    let (from, to) = (bench.name("copy/from"), bench.name("copy/new/to"));
    bench.put(&from, b"copied").await?;
    bench.ok("copy", bench.store.copy(&from, &to).await)?;
    bench.reads(&to, Some(b"copied")).await?;
    bench.put(&from, b"changed").await?;
    bench.reads(&to, Some(b"copied")).await?;
    bench.ok("copy", bench.store.copy(&from, &to).await)?;
    bench.reads(&to, Some(b"changed")).await?;
    bench.reads(&from, Some(b"changed")).await?;
    bench.check("copy of what is not there is an error and changes nothing");
    if bench.store.copy(&bench.name("copy/absent"), &to).await.is_ok() {
        return Err(bench.broken("copying an absent object succeeded"));
    }
    bench.reads(&to, Some(b"changed")).await
}

async fn deletes(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("delete removes, and removing nothing is no error");
    let (one, other) = (bench.name("delete/one"), bench.name("delete/other"));
    bench.put(&one, b"1").await?;
    bench.put(&other, b"2").await?;
    for _ in 0..2 {
        bench.ok("delete", bench.store.delete(&one).await)?;
        bench.reads(&one, None).await?;
    }
    bench.ok("delete", bench.store.delete(&bench.name("never/was")).await)?;
    bench.reads(&other, Some(b"2")).await?;
    bench.check("delete_all removes every name, absent ones among them");
    bench.put(&one, b"1").await?;
    let third = bench.name("delete/third");
    bench.put(&third, b"3").await?;
    let names = [one.clone(), bench.name("delete/absent"), third.clone()];
    bench.ok("delete_all", bench.store.delete_all(&names).await)?;
    bench.reads(&one, None).await?;
    bench.reads(&third, None).await?;
    bench.reads(&other, Some(b"2")).await?;
    bench.ok("delete_all of nothing", bench.store.delete_all(&[]).await)
}

async fn names(bench: &mut Bench) -> Result<(), Violation> {
    bench.check("names are neither encoded nor decoded");
    for odd in ODD_NAMES {
        bench.creates(&bench.name(&format!("names/{odd}")), odd.as_bytes(), Create::Created).await?;
    }
    // Had two names been one object, the later create or the earlier bytes would show it.
    for odd in ODD_NAMES {
        bench.reads(&bench.name(&format!("names/{odd}")), Some(odd.as_bytes())).await?;
    }
    bench.check("a listed name is the name to read and remove");
    let listed = bench.ok("list", bench.store.list(&bench.name("names"), None, usize::MAX).await)?;
    let mut wanted: Vec<String> = ODD_NAMES.iter().map(|odd| bench.name(&format!("names/{odd}"))).collect();
    wanted.sort_unstable();
    let got: Vec<String> = listed.into_iter().map(|listed| listed.name).collect();
    bench.same("list", &got, &wanted)?;
    for name in &got {
        let bytes = name.rsplit_once("names/").map_or("", |(_, odd)| odd);
        bench.reads(name, Some(bytes.as_bytes())).await?;
        bench.ok("delete", bench.store.delete(name).await)?;
        bench.reads(name, None).await?;
    }
    bench.check("names that leave the root or are malformed are refused");
    for bad in ["", "/x", "x/", "a//b", ".", "a/./b", "../x", "a/../../x", "nul\0", "line\nbreak"] {
        let got = bench.store.get(bad).await.is_err() && bench.store.create(bad, "x".into()).await.is_err();
        let written = bench.store.put(bad, "x".into()).await.is_err() && bench.store.delete(bad).await.is_err();
        bench.same(&format!("{bad:?} refused"), &(got && written), &true)?;
    }
    Ok(())
}
