//! Rows sorted in bounded memory: runs that fit are sorted there, and runs on the local disk are merged.

use super::order::Order;
use crate::OpsError;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};

/// Rows of a batch that comes out of a sort, and of those that are read back of a run.
const BATCH_ROWS: usize = 4_096;
const WHAT: &str = "a sort";

/// Takes rows in any order.
pub(crate) struct Sorter<'a> {
    order: &'a Order,
    bytes_max: usize,
    held: Vec<RecordBatch>,
    held_bytes: usize,
    runs: Vec<File>,
}

impl<'a> Sorter<'a> {
    pub(crate) const fn new(order: &'a Order, bytes_max: usize) -> Self {
        Self { order, bytes_max, held: Vec::new(), held_bytes: 0, runs: Vec::new() }
    }

    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<(), OpsError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.held_bytes += batch.get_array_memory_size();
        self.held.push(batch);
        if self.held_bytes >= self.bytes_max {
            self.spill()?;
        }
        Ok(())
    }

    /// The rows in order.
    pub(crate) fn finish(mut self) -> Result<Sorted<'a>, OpsError> {
        if self.runs.is_empty() {
            let sorted = self.sorted()?;
            return Ok(Sorted::Whole { sorted, at: 0 });
        }
        if !self.held.is_empty() {
            self.spill()?;
        }
        Sorted::merge(self.order, self.runs)
    }

    /// What is held, in order; `None` where there is nothing. Rows with equal keys keep their order.
    fn sorted(&mut self) -> Result<Option<RecordBatch>, OpsError> {
        let held = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        let Some(first) = held.first() else { return Ok(None) };
        let all = concat_batches(&first.schema(), &held).map_err(OpsError::rows(WHAT))?;
        drop(held);
        let keys = self.order.keys(&all)?;
        let mut places: Vec<u32> = (0..u32::try_from(all.num_rows()).unwrap_or(u32::MAX)).collect();
        places.sort_by(|a, b| keys.get(*a as usize).cmp(&keys.get(*b as usize)));
        take_record_batch(&all, &UInt32Array::from(places)).map(Some).map_err(OpsError::rows(WHAT))
    }

    /// A run on the local disk. The file has no name, so nothing is left behind whatever happens.
    fn spill(&mut self) -> Result<(), OpsError> {
        let Some(sorted) = self.sorted()? else { return Ok(()) };
        let file = tempfile::tempfile().map_err(local)?;
        let mut writer = StreamWriter::try_new(BufWriter::new(file), &sorted.schema()).map_err(OpsError::rows(WHAT))?;
        let mut from = 0;
        while from < sorted.num_rows() {
            let rows = BATCH_ROWS.min(sorted.num_rows() - from);
            writer.write(&sorted.slice(from, rows)).map_err(OpsError::rows(WHAT))?;
            from += rows;
        }
        let buffered = writer.into_inner().map_err(OpsError::rows(WHAT))?;
        let mut file = buffered.into_inner().map_err(|error| local(error.into_error()))?;
        file.rewind().map_err(local)?;
        self.runs.push(file);
        Ok(())
    }
}

fn local(source: std::io::Error) -> OpsError {
    OpsError::Rows { what: "a sort on the local disk".to_owned(), source: ArrowError::from(source) }
}

/// Rows in order, batch by batch.
pub(crate) enum Sorted<'a> {
    /// All in memory.
    Whole { sorted: Option<RecordBatch>, at: usize },
    /// Merged from runs.
    Runs { order: &'a Order, schema: SchemaRef, runs: Vec<Run>, heap: BinaryHeap<Reverse<(Vec<u8>, usize)>> },
}

/// A run that is read back.
pub(crate) struct Run {
    reader: StreamReader<BufReader<File>>,
    batch: RecordBatch,
    keys: Vec<Vec<u8>>,
    row: usize,
}

impl Run {
    /// The key at which it stands; reads on where a batch ended. `None` at the end.
    fn key(&mut self, order: &Order) -> Result<Option<Vec<u8>>, OpsError> {
        while self.row >= self.keys.len() {
            let Some(batch) = self.reader.next() else { return Ok(None) };
            self.batch = batch.map_err(OpsError::rows(WHAT))?;
            self.keys = order.keys(&self.batch)?;
            self.row = 0;
        }
        Ok(self.keys.get_mut(self.row).map(std::mem::take))
    }
}

impl<'a> Sorted<'a> {
    fn merge(order: &'a Order, files: Vec<File>) -> Result<Self, OpsError> {
        let (mut runs, mut heap) = (Vec::with_capacity(files.len()), BinaryHeap::new());
        for file in files {
            let reader = StreamReader::try_new(BufReader::new(file), None).map_err(OpsError::rows(WHAT))?;
            let batch = RecordBatch::new_empty(reader.schema());
            let mut run = Run { reader, batch, keys: Vec::new(), row: 0 };
            heap.extend(run.key(order)?.map(|key| Reverse((key, runs.len()))));
            runs.push(run);
        }
        let schema =
            runs.first().map_or_else(|| SchemaRef::new(arrow_schema::Schema::empty()), |run| run.batch.schema());
        Ok(Self::Runs { order, schema, runs, heap })
    }

    /// The next rows; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, OpsError> {
        match self {
            Self::Whole { sorted, at } => {
                let Some(all) = sorted else { return Ok(None) };
                let rows = BATCH_ROWS.min(all.num_rows() - *at);
                *at += rows;
                Ok((rows > 0).then(|| all.slice(*at - rows, rows)))
            }
            Self::Runs { order, schema, runs, heap } => merged(order, schema, runs, heap),
        }
    }
}

/// Up to a batch of rows of the runs, the lowest key first; of equal keys the earlier run's.
fn merged(
    order: &Order,
    schema: &SchemaRef,
    runs: &mut [Run],
    heap: &mut BinaryHeap<Reverse<(Vec<u8>, usize)>>,
) -> Result<Option<RecordBatch>, OpsError> {
    let (mut batches, mut picked) = (Vec::new(), Vec::with_capacity(BATCH_ROWS));
    // The place of each run's current batch among those that rows were picked from.
    let mut places: Vec<Option<usize>> = vec![None; runs.len()];
    while picked.len() < BATCH_ROWS {
        let Some(Reverse((_, number))) = heap.pop() else { break };
        let Some(run) = runs.get_mut(number) else { break };
        let place = places.get(number).copied().flatten().unwrap_or(batches.len());
        if place == batches.len() {
            batches.push(run.batch.clone());
        }
        picked.push((place, run.row));
        run.row += 1;
        let ended = run.row >= run.keys.len();
        if let Some(known) = places.get_mut(number) {
            *known = (!ended).then_some(place);
        }
        heap.extend(run.key(order)?.map(|key| Reverse((key, number))));
    }
    if picked.is_empty() {
        return Ok(None);
    }
    let batches: Vec<&RecordBatch> = batches.iter().collect();
    let rows = interleave_record_batch(&batches, &picked).map_err(OpsError::rows(WHAT))?;
    rows.with_schema(SchemaRef::clone(schema)).map(Some).map_err(OpsError::rows(WHAT))
}
