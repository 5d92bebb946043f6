//! Index of near-duplicates: insertion reports whether a text repeats an earlier one.

use std::collections::{HashMap, HashSet};

use super::{Banding, MinHashError, MinHashOptions, Shingled, Shingles};
use base::seeded::{self, Draws};

/// Relation of a text to the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TextStatus {
    /// No earlier text is a duplicate of it.
    New,
    /// It belongs to the cluster of an earlier row.
    Duplicate {
        /// The first row of the cluster.
        first: usize,
        /// The row of the cluster that it was compared with.
        near: usize,
        /// Their Jaccard similarity.
        similarity: f64,
    },
}

/// Clusters of near-duplicate texts, built in one pass. Rows are numbered in the order of insertion,
/// from 0.
///
/// A text is in the cluster of every text that it duplicates, so that a late text can join two
/// existing clusters. The result of [`NearDuplicates::insert`] holds at the time of insertion;
/// [`NearDuplicates::first_of`] returns the current first row. The clusters do not depend on the
/// order of rows; their first rows do.
#[derive(Debug)]
pub struct NearDuplicates {
    options: MinHashOptions,
    banding: Banding,
    /// One for each permutation.
    keys: Vec<u64>,
    /// For each band: from hash to the last entry with that hash.
    buckets: Vec<HashMap<u64, u32>>,
    /// For each entry and band: the entry before it in the bucket, or [`NONE`].
    before: Vec<u32>,
    entries: Vec<IndexedText>,
    /// First row of texts that are equal but for case and white space, by digest.
    equal: HashMap<[u8; 16], u32>,
    /// Union-find over rows; the root of a tree is its least row.
    parents: Vec<u32>,
    shingle_bytes: usize,
    n_too_long: usize,
}

/// A text with its band hashes, valid for the index that computed it.
#[derive(Debug, Clone)]
pub struct Signed {
    text: Shingled,
    /// The hash of each band; empty for a text that is too long.
    hashes: Vec<u64>,
}

/// A row that later rows are compared with.
#[derive(Debug)]
struct IndexedText {
    row: u32,
    shingles: Shingles,
}

/// The end of a chain.
const NONE: u32 = u32::MAX;

impl NearDuplicates {
    /// Creates an empty index.
    ///
    /// # Errors
    /// A setting that is out of its range, or permutations too few for the threshold.
    pub fn new(options: MinHashOptions) -> Result<Self, MinHashError> {
        options.check()?;
        let banding = Banding::choose(&options)?;
        let mut draws = Draws::new(options.seed);
        Ok(Self {
            keys: (0..banding.permutations()).map(|_| draws.next_bits()).collect(),
            buckets: vec![HashMap::new(); banding.bands],
            before: Vec::new(),
            entries: Vec::new(),
            equal: HashMap::new(),
            parents: Vec::new(),
            shingle_bytes: 0,
            n_too_long: 0,
            options,
            banding,
        })
    }

    /// Returns the bands of signatures.
    pub fn banding(&self) -> Banding {
        self.banding
    }

    /// Returns the number of inserted rows.
    pub fn n_rows(&self) -> usize {
        self.parents.len()
    }

    /// Returns the number of rows with too many shingles to compare, without copies.
    pub fn n_too_long(&self) -> usize {
        self.n_too_long
    }

    /// Inserts the next text.
    ///
    /// # Errors
    /// [`MinHashError::Full`] once the index has passed its bound, and
    /// [`MinHashError::TooManyRows`]; the text is not in the index then.
    pub fn insert(&mut self, text: &str) -> Result<TextStatus, MinHashError> {
        self.insert_signed(self.sign(text))
    }

    /// Computes the signature of a text, the expensive part of an insertion; many threads can do
    /// it.
    pub fn sign(&self, text: &str) -> Signed {
        let text = Shingled::read(text, &self.options);
        let hashes = text.shingles.as_ref().map(|set| self.band_hashes(set));
        Signed { text, hashes: hashes.unwrap_or_default() }
    }

    /// Inserts the next text, signed by this index.
    ///
    /// # Errors
    /// As [`NearDuplicates::insert`].
    pub fn insert_signed(&mut self, signed: Signed) -> Result<TextStatus, MinHashError> {
        let Signed { text, hashes } = signed;
        let row = self.room()?;
        self.parents.push(row);
        if let Some(&same) = self.equal.get(&text.digest) {
            self.join(row, same);
            return Ok(self.duplicate(row, same, 1.0));
        }
        self.equal.insert(text.digest, row);
        let Some(shingles) = text.shingles else {
            self.n_too_long += 1;
            return Ok(TextStatus::New);
        };
        let near = self.join_near(row, &shingles, &hashes);
        self.enter(row, shingles, &hashes);
        Ok(near.map_or(TextStatus::New, |(near, similarity)| self.duplicate(row, near, similarity)))
    }

    /// Returns the current first row of the cluster of `row`.
    pub fn first_of(&self, row: usize) -> usize {
        let mut at = u32::try_from(row).expect("rows are numbered in 32 bits");
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
        }
        at as usize
    }

    /// Returns the bytes of the index on the heap, by the capacity of its tables.
    pub fn memory_bytes(&self) -> usize {
        // A hash table keeps a byte of metadata a slot, and fills 7 of 8 slots.
        let table = |capacity: usize, entry: usize| capacity * 8 / 7 * (entry + 1);
        let buckets = self.buckets.iter();
        let buckets: usize = buckets.map(|bucket| table(bucket.capacity(), 16)).sum();
        buckets
            + table(self.equal.capacity(), 20)
            + (self.before.capacity() + self.parents.capacity()) * size_of::<u32>()
            + self.entries.capacity() * size_of::<IndexedText>()
            + self.shingle_bytes
    }

    /// Returns the number of the next row.
    fn room(&self) -> Result<u32, MinHashError> {
        let held = self.memory_bytes();
        match self.options.max_bytes {
            Some(bound) if held > bound => {
                return Err(MinHashError::Full { rows: self.n_rows(), held, bound });
            }
            Some(_) | None => {}
        }
        let row = u32::try_from(self.n_rows()).ok();
        row.filter(|row| *row < NONE).ok_or(MinHashError::TooManyRows { most: NONE as usize })
    }

    fn duplicate(&self, row: u32, near: u32, similarity: f64) -> TextStatus {
        TextStatus::Duplicate {
            first: self.first_of(row as usize),
            near: near as usize,
            similarity,
        }
    }

    /// Computes the hash of each band of the signature.
    fn band_hashes(&self, shingles: &Shingles) -> Vec<u64> {
        let least = |key: &u64| least(shingles.hashes(), *key);
        let signature: Vec<u64> = self.keys.iter().map(least).collect();
        let bands = signature.chunks_exact(self.banding.rows).zip(0_u64..);
        let hash = |(band, index): (&[u64], u64)| {
            let bytes: Vec<u8> = band.iter().flat_map(|least| least.to_le_bytes()).collect();
            seeded::hash(self.options.seed, &[&index.to_le_bytes(), &bytes])
        };
        bands.map(hash).collect()
    }

    /// Joins `row` with the cluster of each earlier row that is a duplicate of it. Returns the most
    /// similar row of those compared, the first of equals.
    fn join_near(&mut self, row: u32, shingles: &Shingles, hashes: &[u64]) -> Option<(u32, f64)> {
        let mut nearest: Option<(u32, f64)> = None;
        let mut looked_at = HashSet::new();
        for (band, hash) in hashes.iter().enumerate() {
            let mut next = self.buckets[band].get(hash).copied().unwrap_or(NONE);
            while next != NONE {
                let index = next as usize;
                next = self.before[index * self.banding.bands + band];
                if !looked_at.insert(index) {
                    continue;
                }
                let other = self.entries[index].row;
                // The row is in this cluster already.
                if self.root(other) == self.root(row) {
                    continue;
                }
                let Some(similarity) = self.similarity(shingles, index) else {
                    continue;
                };
                self.join(row, other);
                let closer = |(near, at): (u32, f64)| {
                    similarity > at || (similarity.total_cmp(&at).is_eq() && other < near)
                };
                if nearest.is_none_or(closer) {
                    nearest = Some((other, similarity));
                }
            }
        }
        nearest
    }

    /// Returns the similarity with an entry if they are duplicates.
    fn similarity(&self, shingles: &Shingles, entry: usize) -> Option<f64> {
        let other = &self.entries[entry].shingles;
        if shingles.jaccard_at_most(other) < self.options.threshold {
            return None;
        }
        let similarity = shingles.jaccard(other);
        (similarity >= self.options.threshold).then_some(similarity)
    }

    fn enter(&mut self, row: u32, shingles: Shingles, hashes: &[u64]) {
        let index = u32::try_from(self.entries.len()).expect("no more entries than rows");
        for (bucket, hash) in self.buckets.iter_mut().zip(hashes) {
            self.before.push(bucket.insert(*hash, index).unwrap_or(NONE));
        }
        self.shingle_bytes += shingles.len() * size_of::<u64>();
        self.entries.push(IndexedText { row, shingles });
    }

    /// Joins the clusters of two rows; the root is the least row.
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// Returns the least row of a cluster, with path halving.
    fn root(&mut self, mut row: u32) -> u32 {
        while self.parents[row as usize] != row {
            let above = self.parents[row as usize];
            self.parents[row as usize] = self.parents[above as usize];
            row = above;
        }
        row
    }
}

/// Returns the least element of a set under the permutation of a key; the greatest number for the
/// empty set, which is unique because all empty texts share one digest.
///
/// Four independent minima take a third less time than one.
fn least(hashes: &[u64], key: u64) -> u64 {
    const LANES: usize = 4;
    let mut least = [u64::MAX; LANES];
    let mut chunks = hashes.chunks_exact(LANES);
    let mut take = |some: &[u64]| {
        for (least, hash) in least.iter_mut().zip(some) {
            *least = (*least).min(seeded::mix(hash ^ key));
        }
    };
    chunks.by_ref().for_each(&mut take);
    take(chunks.remainder());
    least.into_iter().min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn least_equals_the_minimum_of_all(hashes in prop::collection::vec(any::<u64>(), 0..20), key in any::<u64>()) {
            let all = hashes.iter().map(|hash| seeded::mix(hash ^ key)).min();
            prop_assert_eq!(least(&hashes, key), all.unwrap_or(u64::MAX));
        }
    }
}
