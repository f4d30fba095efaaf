//! Telling what is done while it is done.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// One line on standard error for each span of ours that ends. What other libraries say is left out: the requests that some of
/// them print may be signed.
pub(crate) fn tell() {
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_span_events(FmtSpan::CLOSE);
    let ours = Targets::new().with_target("lakebed", LevelFilter::DEBUG);
    tracing_subscriber::registry().with(lines.with_filter(ours)).init();
}
