//! Rows read ahead on a thread of their own, so that reading a file and writing the table overlap.

use crate::DataError;
use arrow_array::RecordBatch;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

/// Batches that wait to be taken, at most.
const AHEAD_MAX: usize = 4;

type Batch = Result<RecordBatch, DataError>;

/// Batches of a file.
pub(super) struct Ahead<I> {
    file: String,
    state: State<I>,
}

enum State<I> {
    /// Nobody has asked yet, so nothing is read.
    Idle(I),
    Reading(Receiver<Batch>, JoinHandle<()>),
    Done,
}

impl<I: Iterator<Item = Batch> + Send + 'static> Ahead<I> {
    pub(super) fn new(file: &str, batches: I) -> Self {
        Self { file: file.to_owned(), state: State::Idle(batches) }
    }

    fn begin(&self, batches: I) -> Result<State<I>, DataError> {
        let (give, take) = sync_channel(AHEAD_MAX);
        let read = move || {
            for batch in batches {
                // Who does not take them any more has gone away.
                if give.send(batch).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("lakebed-read".to_owned()).spawn(read);
        let thread = thread.map_err(|source| DataError::Io { file: self.file.clone(), source })?;
        Ok(State::Reading(take, thread))
    }
}

impl<I: Iterator<Item = Batch> + Send + 'static> Iterator for Ahead<I> {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Idle(batches) => match self.begin(batches) {
                    Ok(reading) => self.state = reading,
                    Err(error) => return Some(Err(error)),
                },
                State::Reading(take, thread) => {
                    if let Ok(batch) = take.recv() {
                        self.state = State::Reading(take, thread);
                        return Some(batch);
                    }
                    // The end, unless the reader broke down: rows must not be missing in silence.
                    if let Err(panic) = thread.join() {
                        std::panic::resume_unwind(panic);
                    }
                }
                State::Done => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AHEAD_MAX, Ahead, Batch};
    use crate::DataError;
    use arrow_array::record_batch;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn batch(number: i64) -> Batch {
        Ok(record_batch!(("id", Int64, [number])).unwrap())
    }

    #[test]
    fn batches_come_in_order_with_their_errors() {
        let given =
            (0..100).map(|n| if n == 50 { Err(DataError::UnknownKind { file: "x".to_owned() }) } else { batch(n) });
        let taken: Vec<Batch> = Ahead::new("x", given).collect();
        assert_eq!(taken.len(), 100);
        assert!(taken.iter().enumerate().all(|(at, taken)| taken.is_err() == (at == 50)));
        assert_eq!(taken[99].as_ref().unwrap(), &batch(99).unwrap());
    }

    #[test]
    fn few_are_read_ahead_and_none_before_they_are_wanted() {
        let read = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&read);
        let given = (0..1_000).map(move |n| {
            counted.fetch_add(1, Ordering::SeqCst);
            batch(n)
        });
        let mut ahead = Ahead::new("x", given);
        assert_eq!(read.load(Ordering::SeqCst), 0);
        assert!(ahead.next().is_some());
        drop(ahead);
        // One was taken, some wait, one stands at the door.
        assert!(read.load(Ordering::SeqCst) <= AHEAD_MAX + 2);
    }

    #[test]
    #[should_panic(expected = "the reader broke down")]
    fn a_reader_that_breaks_down_is_no_end() {
        let given = (0..3).map(|n| if n == 2 { panic!("the reader broke down") } else { batch(n) });
        let _ = Ahead::new("x", given).count();
    }
}
