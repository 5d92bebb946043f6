//! Bit set of the rows that a pass keeps.

use arrow::array::BooleanArray;

use datasets::{DatasetError, Result};

/// Kept rows by position among the rows that meet the conditions.
#[derive(Debug, Default)]
pub(super) struct KeptRows {
    bits: Vec<u64>,
    /// Number of decided positions.
    rows: u64,
}

/// The word and the bit of a position.
fn place(row: u64) -> (usize, u64) {
    let word = usize::try_from(row / 64).expect("a bit a row fits in memory");
    (word, 1 << (row % 64))
}

impl KeptRows {
    /// Keeps none of `rows` rows.
    pub(super) fn none(rows: u64) -> Self {
        let (last, _) = place(rows);
        Self { bits: vec![0; last + 1], rows }
    }

    /// Collects one decision for each row.
    pub(super) fn of(decisions: impl IntoIterator<Item = bool>) -> Self {
        let mut kept = Self::default();
        for is_kept in decisions {
            let (word, bit) = place(kept.rows);
            if word == kept.bits.len() {
                kept.bits.push(0);
            }
            kept.bits[word] |= if is_kept { bit } else { 0 };
            kept.rows += 1;
        }
        kept
    }

    /// Keeps a row.
    pub(super) fn keep(&mut self, row: u64) {
        let (word, bit) = place(row);
        self.bits[word] |= bit;
    }

    pub(super) fn is_kept(&self, row: u64) -> bool {
        let (word, bit) = place(row);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Number of decided positions.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of kept rows.
    pub(super) fn count(&self) -> u64 {
        self.bits.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }

    /// Bytes on the heap.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>()
    }

    /// Mask of `n` rows from position `first` on.
    ///
    /// # Errors
    /// If fewer rows were decided: the input has changed.
    pub(super) fn mask(&self, first: u64, n: usize) -> Result<BooleanArray> {
        let end = first + n as u64;
        if end > self.rows {
            return Err(changed());
        }
        Ok((first..end).map(|row| Some(self.is_kept(row))).collect())
    }
}

/// Error of a pass that finds other rows than an earlier one.
pub(super) fn changed() -> DatasetError {
    let message = "the input was changed while it was read: a second reading found other rows";
    DatasetError::Usage(message.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn mask_equals_the_decisions(decisions in prop::collection::vec(any::<bool>(), 0..300),
                                      cut in 0usize..300) {
            let kept = KeptRows::of(decisions.iter().copied());
            let mut set = KeptRows::none(decisions.len() as u64);
            for (row, is_kept) in (0..).zip(&decisions) {
                if *is_kept {
                    set.keep(row);
                }
            }
            let cut = cut.min(decisions.len());
            for kept in [kept, set] {
                prop_assert_eq!(kept.rows(), decisions.len() as u64);
                prop_assert_eq!(kept.count(), decisions.iter().filter(|kept| **kept).count() as u64);
                let mask = kept.mask(cut as u64, decisions.len() - cut).expect("known rows");
                let mask: Vec<bool> = mask.values().iter().collect();
                prop_assert_eq!(mask, &decisions[cut..]);
                prop_assert!(kept.mask(cut as u64, decisions.len() - cut + 1).is_err());
            }
        }
    }
}
