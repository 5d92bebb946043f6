//! A row's bits depend on its own tokens, weights and adapter.

use gpu_models::GpuRunner;
use models::{ModelConfig, Output};

use crate::subject::{Sequence, blocks, item, numbers, run};

/// The bits of outputs, by row.
pub type Bits = Vec<Vec<u32>>;

/// The bits of outputs.
pub fn bits(outputs: &[Output]) -> Bits {
    let of = |output| numbers(output).iter().map(|x| x.to_bits()).collect();
    outputs.iter().map(of).collect()
}

/// A runner with blocks, the sequences that go through it, and the rows that are read: every one in `each`.
#[derive(Debug)]
pub struct Trial<'a> {
    /// With at least as many blocks.
    pub runner: GpuRunner,
    /// Blocks, no multiple of 7.
    pub n_blocks: usize,
    /// Its model's.
    pub config: &'a ModelConfig,
    /// At most as many tokens as the blocks hold.
    pub sequences: Vec<Sequence>,
    /// Reading every row takes an emulated card several times as long.
    pub each: usize,
}

impl Trial<'_> {
    /// Each sequence by itself, without blocks.
    ///
    /// # Panics
    /// If the card fails.
    pub fn alone(&mut self) -> Vec<Bits> {
        let Trial { runner, config, sequences, each, .. } = self;
        let is_read = |row: usize| row.is_multiple_of(*each);
        let run =
            |s: &Sequence| bits(&run(runner, &[item(config, s, 0..s.token_ids.len(), is_read)]));
        sequences.iter().map(run).collect()
    }

    /// All sequences in one batch, without blocks.
    fn together(&mut self) -> Bits {
        let is_read = |row: usize| row.is_multiple_of(self.each);
        let of = |s: &Sequence| item(self.config, s, 0..s.token_ids.len(), is_read);
        let items: Vec<_> = self.sequences.iter().map(of).collect();
        bits(&run(&mut self.runner, &items))
    }

    /// The sequences in steps over scattered blocks, each step a chunk of some of them.
    fn in_steps(&mut self, sizes: &[usize]) -> Vec<Bits> {
        let Trial { runner, n_blocks, config, sequences, each } = self;
        let is_read = |row: usize| row.is_multiple_of(*each);
        let owned = blocks(sequences, *n_blocks);
        let mut done = vec![0; sequences.len()];
        let mut rows = vec![Vec::new(); sequences.len()];
        let mut sizes = sizes.iter().copied().cycle();
        while done.iter().zip(&*sequences).any(|(done, s)| *done < s.token_ids.len()) {
            let mut step = Vec::new();
            for (at, s) in sequences.iter().enumerate() {
                let n = sizes.next().expect("a cycle").min(s.token_ids.len() - done[at]);
                if n > 0 {
                    let mut item = item(config, s, done[at]..done[at] + n, is_read);
                    item.blocks.clone_from(&owned[at]);
                    step.push((at, item));
                }
            }
            if step.is_empty() {
                continue;
            }
            let items: Vec<_> = step.iter().map(|(_, item)| item.clone()).collect();
            let mut outputs = bits(&run(runner, &items)).into_iter();
            for (at, item) in step {
                rows[at].extend(outputs.by_ref().take(item.outputs.len()));
                done[at] += item.token_ids.len();
            }
        }
        rows
    }

    /// One row of each is read, the last that all others read too: the rest are not carried to the end.
    fn last_rows(&mut self, alone: &[Bits]) -> [Bits; 2] {
        let each = self.each;
        let last = |s: &Sequence| {
            let n = s.token_ids.len();
            item(self.config, s, 0..n, |row| row == (n - 1) / each * each)
        };
        let items: Vec<_> = self.sequences.iter().map(last).collect();
        let expected = alone
            .iter()
            .zip(&items)
            .flat_map(|(rows, item)| rows[rows.len() - item.outputs.len()..].to_vec());
        [bits(&run(&mut self.runner, &items)), expected.collect()]
    }

    /// Runs the sequences alone, together, in steps of `sizes` tokens in turn, and for their last rows alone. Returns the bits.
    ///
    /// # Errors
    /// Which of them changed a row.
    ///
    /// # Panics
    /// If the card fails.
    pub fn check(&mut self, sizes: &[usize]) -> Result<Bits, String> {
        let alone = self.alone();
        let mut numbers = alone.iter().flatten().flatten().map(|bits| f32::from_bits(*bits));
        if let Some(number) = numbers.find(|number| !number.is_finite()) {
            return Err(format!("a row gave {number}"));
        }
        let together = self.together();
        let same = |is: bool, with: &str| {
            if is { Ok(()) } else { Err(format!("a row changed with {with}")) }
        };
        same(together == alone.concat(), "its neighbours")?;
        same(self.in_steps(sizes) == alone, "the steps")?;
        let [read, expected] = self.last_rows(&alone);
        same(read == expected, "those that are read")?;
        Ok(together)
    }
}
