//! The records of a CSV file (RFC 4180), which tell whether a field stood in quotes. Lines end in LF, CRLF or CR; a quote
//! within a field that did not begin with one is a character like any other.

use crate::DataError;
use std::io::BufRead;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads record after record.
pub(super) struct Records<R> {
    name: String,
    input: R,
    record: Record,
}

/// Where in a field we are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Bare,
    Quoted,
    /// After a quote that ends the field, or with another quote stands for one.
    Closing,
}

/// The record that is being read.
struct Record {
    text: Vec<u8>,
    /// Where each field ends in the text, and whether it stood in quotes.
    ends: Vec<(usize, bool)>,
    state: State,
    quoted: bool,
    begun: bool,
    after_cr: bool,
    is_header: bool,
    line: u64,
    first_line: u64,
}

impl<R: BufRead> Records<R> {
    /// `name` is for messages.
    pub(super) fn new(name: &str, input: R) -> Self {
        let record = Record {
            text: Vec::new(),
            ends: Vec::new(),
            state: State::Start,
            quoted: false,
            begun: false,
            after_cr: false,
            is_header: true,
            line: 0,
            first_line: 1,
        };
        Self { name: name.to_owned(), input, record }
    }

    /// Reads the next record; `false` at the end.
    ///
    /// # Errors
    /// The file cannot be read, ends within quotes, has text behind them, or has too long a record.
    pub(super) fn read(&mut self) -> Result<bool, DataError> {
        self.record.begin();
        loop {
            let chunk = self.input.fill_buf();
            let chunk = chunk.map_err(|source| DataError::Io { file: self.name.clone(), source })?;
            if chunk.is_empty() {
                return self.record.end_of_file().map_err(|reason| self.refused(&reason));
            }
            let (used, complete) = self.record.take(chunk).map_err(|reason| self.refused(&reason))?;
            self.input.consume(used);
            if complete {
                return Ok(true);
            }
        }
    }

    /// The fields of the record, and whether each stood in quotes.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let mut start = 0;
        self.record.ends.iter().map(move |(end, quoted)| {
            let field = self.record.text.get(start..*end).unwrap_or_default();
            start = *end;
            (field, *quoted)
        })
    }

    /// Whether the record is a blank line.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.record.ends.as_slice(), [(0, false)])
    }

    /// About how much memory the record takes.
    pub(super) const fn size_bytes(&self) -> usize {
        self.record.text.len() + self.record.ends.len()
    }

    /// The line that ends the record, from 1.
    pub(super) const fn line(&self) -> u64 {
        self.record.line
    }

    /// The file's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// An error of this file.
    pub(super) fn refused(&self, reason: &str) -> DataError {
        DataError::BadSource { file: self.name.clone(), reason: reason.to_owned() }
    }
}

impl Record {
    fn begin(&mut self) {
        self.is_header &= !self.begun;
        self.text.clear();
        self.ends.clear();
        (self.state, self.quoted, self.begun) = (State::Start, false, false);
        self.first_line = self.line + 1;
    }

    /// Takes bytes up to the end of the record: how many, and whether that was reached.
    fn take(&mut self, chunk: &[u8]) -> Result<(usize, bool), String> {
        for (at, byte) in chunk.iter().enumerate() {
            if self.step(*byte)? {
                return Ok((at + 1, true));
            }
        }
        if u64::try_from(self.text.len()).is_ok_and(|size| size < super::ROW_BYTES) {
            return Ok((chunk.len(), false));
        }
        let (from, limit) = (self.first_line, super::ROW_BYTES);
        Err(format!("the record that begins at line {from} is longer than {limit} bytes; is a quote not closed?"))
    }

    fn step(&mut self, byte: u8) -> Result<bool, String> {
        if std::mem::take(&mut self.after_cr) && byte == b'\n' {
            return Ok(false);
        }
        self.begun = true;
        match (self.state, byte) {
            (State::Quoted, b'"') => self.state = State::Closing,
            (State::Quoted, _) => {
                self.line += u64::from(byte == b'\n');
                self.text.push(byte);
            }
            (State::Closing, b'"') => {
                self.text.push(byte);
                self.state = State::Quoted;
            }
            (State::Start | State::Bare | State::Closing, b',') => self.end_field(),
            (State::Start | State::Bare | State::Closing, b'\n' | b'\r') => {
                self.line += 1;
                self.after_cr = byte == b'\r';
                self.end_field();
                return Ok(true);
            }
            (State::Start, b'"') => (self.state, self.quoted) = (State::Quoted, true),
            (State::Start | State::Bare, _) => {
                self.text.push(byte);
                self.state = State::Bare;
                if self.is_header && self.text == BOM {
                    self.text.clear();
                    self.state = State::Start;
                }
            }
            (State::Closing, _) => {
                let line = self.line + 1;
                return Err(format!("line {line}: text follows a closing quote; write a quote within quotes twice"));
            }
        }
        Ok(false)
    }

    fn end_field(&mut self) {
        self.ends.push((self.text.len(), self.quoted));
        (self.state, self.quoted) = (State::Start, false);
    }

    fn end_of_file(&mut self) -> Result<bool, String> {
        if self.state == State::Quoted {
            let from = self.first_line;
            return Err(format!(
                "it ends within a quoted field of the record that begins at line {from}; is it whole?"
            ));
        }
        if self.begun {
            self.line += 1;
            self.end_field();
        }
        Ok(self.begun)
    }
}
