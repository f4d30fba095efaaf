//! The order of rows: by one column, or along a Z-order curve over several.

use crate::OpsError;
use arrow_array::RecordBatch;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::Schema;

/// Rows that are looked at to find out how the values of a column are spread, at most.
const SAMPLE_MAX: usize = 1 << 16;
/// Bits of a column's rank on the curve.
const RANK_BITS: u32 = 10;

/// Gives each row a key, such that the order of the keys as bytes is the order of the rows.
pub(crate) struct Order {
    columns: Vec<String>,
    converters: Vec<RowConverter>,
    /// For each column the values at which its ranks begin, ascending; none where there is only one column.
    ranks: Vec<Vec<Vec<u8>>>,
    what: &'static str,
}

impl Order {
    /// # Errors
    /// A column has a type without an order.
    pub(crate) fn new(columns: &[String], schema: &Schema) -> Result<Self, OpsError> {
        let what = "the order of rows";
        let mut converters = Vec::with_capacity(columns.len());
        for name in columns {
            let field = schema.field_with_name(name).map_err(OpsError::rows(what))?;
            let sorted = SortField::new(field.data_type().clone());
            converters.push(RowConverter::new(vec![sorted]).map_err(OpsError::rows(what))?);
        }
        Ok(Self { columns: columns.to_vec(), converters, ranks: Vec::new(), what })
    }

    /// Whether the spread of the values must be known first.
    pub(crate) const fn is_curve(&self) -> bool {
        self.columns.len() > 1
    }

    /// Takes the spread of the values from a sample.
    pub(crate) fn spread(&mut self, sample: Sample) {
        self.ranks = sample.columns.into_iter().map(ranks).collect();
    }

    /// The key of each row.
    pub(crate) fn keys(&self, batch: &RecordBatch) -> Result<Vec<Vec<u8>>, OpsError> {
        let columns = self.values(batch)?;
        Ok((0..batch.num_rows())
            .map(|row| match columns.as_slice() {
                [only] => only.row(row).as_ref().to_vec(),
                several => {
                    let ranks = several.iter().zip(&self.ranks);
                    interleaved(&ranks.map(|(rows, ranks)| rank(ranks, rows.row(row).as_ref())).collect::<Vec<_>>())
                }
            })
            .collect())
    }

    fn values(&self, batch: &RecordBatch) -> Result<Vec<Rows>, OpsError> {
        let columns = self.columns.iter().zip(&self.converters);
        columns
            .map(|(name, converter)| {
                let at = batch.schema_ref().index_of(name).map_err(OpsError::rows(self.what))?;
                converter.convert_columns(&[std::sync::Arc::clone(batch.column(at))]).map_err(OpsError::rows(self.what))
            })
            .collect()
    }
}

/// Values of the rows that were looked at, evenly over all that were seen.
pub(crate) struct Sample {
    columns: Vec<Vec<Vec<u8>>>,
    stride: usize,
    seen: usize,
}

impl Sample {
    pub(crate) fn of(order: &Order) -> Self {
        Self { columns: vec![Vec::new(); order.columns.len()], stride: 1, seen: 0 }
    }

    pub(crate) fn see(&mut self, order: &Order, batch: &RecordBatch) -> Result<(), OpsError> {
        let values = order.values(batch)?;
        for row in 0..batch.num_rows() {
            if self.seen.is_multiple_of(self.stride) {
                for (kept, rows) in self.columns.iter_mut().zip(&values) {
                    kept.push(rows.row(row).as_ref().to_vec());
                }
                self.thin();
            }
            self.seen += 1;
        }
        Ok(())
    }

    /// Keeps every other value, and every other from now on, where there are too many.
    fn thin(&mut self) {
        if self.columns.first().is_none_or(|kept| kept.len() < SAMPLE_MAX) {
            return;
        }
        for kept in &mut self.columns {
            let mut at = 0;
            kept.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
        self.stride *= 2;
    }
}

/// Where the ranks of a column begin: values that part the sample evenly.
fn ranks(mut sample: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    sample.sort_unstable();
    let count = 1_usize << RANK_BITS;
    let mut bounds: Vec<Vec<u8>> =
        (1..count).filter_map(|part| sample.get(part * sample.len() / count).cloned()).collect();
    bounds.dedup();
    bounds
}

fn rank(bounds: &[Vec<u8>], value: &[u8]) -> u32 {
    u32::try_from(bounds.partition_point(|bound| bound.as_slice() <= value)).unwrap_or(u32::MAX)
}

/// The bits of the ranks by turns, the highest first.
fn interleaved(ranks: &[u32]) -> Vec<u8> {
    let bits = (0..RANK_BITS).rev().flat_map(|bit| ranks.iter().map(move |rank| (rank >> bit) & 1 == 1));
    let mut key = vec![0; (ranks.len() * RANK_BITS as usize).div_ceil(8)];
    for (at, _) in bits.enumerate().filter(|(_, set)| *set) {
        if let Some(byte) = key.get_mut(at / 8) {
            *byte |= 0x80 >> (at % 8);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_two_ranks_alternate() {
        // Ranks 0b11_0000_0000 and 0b10_0000_0000: 1 1, 1 0, then zeros.
        assert_eq!(interleaved(&[0b11_0000_0000, 0b10_0000_0000]), [0b1110_0000, 0, 0]);
        assert_eq!(interleaved(&[1, 0]), [0, 0, 0b0010_0000]);
    }

    #[test]
    fn ranks_part_a_sample_evenly() {
        let sample: Vec<Vec<u8>> = (0..4_096_u32).rev().map(|value| value.to_be_bytes().to_vec()).collect();
        let bounds = ranks(sample);
        let at = |value: u32| rank(&bounds, &value.to_be_bytes());
        assert_eq!((at(0), at(3), at(4), at(2_048), at(4_095)), (0, 0, 1, 512, 1_023));
    }
}
