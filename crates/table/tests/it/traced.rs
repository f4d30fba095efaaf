//! The spans of commits and loads, as a subscriber sees them, and as `docs/tracing.md` shows them.

use crate::stores::is_entry;
use crate::support::{BOTH, add, committed, isolated, three_rows};
use lakebed_storage::testing::{Fault, Faulty, Script};
use lakebed_storage::{Create, Store};
use lakebed_table::{Table, TableFormat};
use std::io::Write;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

/// What a subscriber wrote.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Lines {
    /// One line for each span that ended, without how long it took and without what names this run.
    fn told(&self, root: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines()
            .map(|line| line.split(": close").next().unwrap().replace(root, "memory://place/table"))
            .map(|line| line.trim_start().to_owned())
            .filter(|line| !line.contains("wait{"))
            .collect()
    }
}

/// Tells every span of this thread that ends.
fn listen(lines: &Lines) -> tracing::subscriber::DefaultGuard {
    let subscriber = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_span_events(FmtSpan::CLOSE)
        .finish();
    tracing::subscriber::set_default(subscriber)
}

/// A neighbour commits, and then a writer on the version before, whose first create gets no answer.
async fn lost_race(format: TableFormat) -> Vec<String> {
    let (store, mut neighbour) = three_rows(format).await;
    let script = Script::first_of(is_entry, Fault::LostAnswer(Create::Unknown("timed out".to_owned())));
    let faulty: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(&store), script));
    let lines = Lines::default();
    let listening = listen(&lines);
    let mut table = Table::open_store(faulty, &isolated()).await.unwrap();
    drop(listening);
    let read = table.version().get();
    let _ = committed(&add(&mut neighbour, &[4]).await);
    let listening = listen(&lines);
    assert_eq!(committed(&add(&mut table, &[5]).await), read + 2);
    drop(listening);
    lines.told(store.root())
}

/// Every span of the page, with its numbers, is one that a commit makes.
#[tokio::test]
async fn the_page_shows_what_a_commit_tells() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tracing.md")).unwrap();
    let mut missing = String::new();
    for format in BOTH {
        let lines = lost_race(format).await;
        let block = format!("```text\n{}\n```", lines.join("\n"));
        if !page.contains(&block) {
            missing += &format!("{format}:\n{block}\n");
        }
        for span in ["replay{", "publish{", "confirm{", "judge{", "rebase{"] {
            assert!(lines.iter().any(|line| line.contains(span)), "no {span} on {format}");
        }
    }
    assert_eq!(missing, "", "docs/tracing.md does not show what is told");
}
