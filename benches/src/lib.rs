//! Benchmarks of lakebed live in `benches/`.
