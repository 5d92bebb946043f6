//! Overload by memory: watches the anonymous resident memory of the process against a limit.
//!
//! A thread samples the memory ten times a second and sets a [`MemoryStage`]. Each stage sheds work
//! that costs less to repeat than the work that the next stage sheds, as in Envoy's overload manager. A
//! stage is entered when less than its share of the limit is free, and left when a quarter more than
//! that share is free, so that the stage does not change with every sample near a threshold.
//!
//! Pages of mapped files are not counted: the system reclaims them before it kills a process.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use base::memory::{limit_bytes, resident_anonymous_bytes};

/// Upper bound of the free memory that a stage needs, in bytes per percent of the limit: a machine of
/// 512 GiB with 20 GiB free is not short of memory.
const LARGEST_PERCENT: u64 = 100 << 20;

/// Percentage of the limit; when less is free, the allocator returns free pages to the system at once.
/// Returning a page takes time, and so does taking it again.
const PAGES_PERCENT: u64 = 40;

/// Bytes of a percent of the limit.
fn percent(limit: u64) -> u64 {
    (limit / 100).min(LARGEST_PERCENT)
}

/// What the server sheds when memory is short. Each stage includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum MemoryStage {
    /// Nothing.
    Normal,
    /// Lines of batches wait.
    PauseBatches,
    /// Cached scores are dropped, and new ones are not cached.
    DropCache,
    /// Request bodies above 64 KiB are refused, and readers that have stalled are cut off.
    RefuseLargeBodies,
    /// All requests are refused but health, metrics and the list of models.
    RefuseWork,
}

impl MemoryStage {
    const ALL: [Self; 5] = [
        Self::Normal,
        Self::PauseBatches,
        Self::DropCache,
        Self::RefuseLargeBodies,
        Self::RefuseWork,
    ];

    /// Its name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::PauseBatches => "pause_batches",
            Self::DropCache => "drop_cache",
            Self::RefuseLargeBodies => "refuse_large_bodies",
            Self::RefuseWork => "refuse_work",
        }
    }

    /// Percentage of the limit; the stage is entered when less is free.
    fn free_percent(self) -> u64 {
        match self {
            Self::Normal => 0,
            Self::PauseBatches => 20,
            Self::DropCache => 15,
            Self::RefuseLargeBodies => 10,
            Self::RefuseWork => 5,
        }
    }

    /// Bytes that must be free for the stage not to be entered.
    fn reserve(self, limit: u64) -> u64 {
        percent(limit) * self.free_percent()
    }
}

/// Calls of the program's allocator. It keeps freed pages for its next callers, and the limit counts
/// them as memory in use.
#[derive(Debug, Clone, Copy)]
pub struct AllocatorHooks {
    /// Sets whether pages that become free are kept for a while, or go back to the system at once.
    pub keep_pages: fn(bool),
    /// Returns the free pages that are kept.
    pub collect: fn(),
}

impl Default for AllocatorHooks {
    /// Calls that do nothing.
    fn default() -> Self {
        Self { keep_pages: |_| (), collect: || () }
    }
}

/// The memory in use, its limit and the stage that follows.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: Option<u64>,
    used: AtomicU64,
    stage: AtomicU8,
    refused: AtomicUsize,
}

impl MemoryBudget {
    /// A budget of `limit` bytes; `None` takes the limit of the control group or of the machine. Where
    /// the system reports no limit, or no memory in use, the stage is always
    /// [`MemoryStage::Normal`].
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            limit: limit.or_else(limit_bytes),
            used: AtomicU64::new(resident_anonymous_bytes().unwrap_or(0)),
            stage: AtomicU8::new(MemoryStage::Normal as u8),
            refused: AtomicUsize::new(0),
        }
    }

    /// The limit in bytes; `None` if the system reports none.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Anonymous resident memory at the last sample, in bytes.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The stage of the last sample.
    pub fn stage(&self) -> MemoryStage {
        MemoryStage::ALL[usize::from(self.stage.load(Ordering::Relaxed))]
    }

    /// Whether the allocator should keep no free pages.
    pub(crate) fn keeps_no_pages(&self) -> bool {
        let reserve = |limit: u64| percent(limit) * PAGES_PERCENT;
        self.limit.is_some_and(|limit| limit.saturating_sub(self.used()) < reserve(limit))
    }

    /// Number of requests refused because of memory.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    /// Returns whether a request is refused at this stage, and counts it if so.
    pub(crate) fn refuses(&self, has_large_body: bool, is_batch_line: bool) -> bool {
        let stage = self.stage();
        let refuses = match stage {
            MemoryStage::Normal => false,
            MemoryStage::PauseBatches | MemoryStage::DropCache => is_batch_line,
            MemoryStage::RefuseLargeBodies => is_batch_line || has_large_body,
            MemoryStage::RefuseWork => true,
        };
        if refuses {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        refuses
    }

    /// Takes a sample of `used` bytes. Returns the stage if it changed.
    pub(crate) fn sample(&self, used: u64) -> Option<MemoryStage> {
        self.used.store(used, Ordering::Relaxed);
        let limit = self.limit?;
        let free = limit.saturating_sub(used);
        let before = self.stage();
        let holds = |stage: MemoryStage| {
            let reserve = stage.reserve(limit);
            free < if stage <= before { reserve + reserve / 4 } else { reserve }
        };
        let stage = MemoryStage::ALL.into_iter().rev().find(|stage| holds(*stage));
        let stage = stage.unwrap_or(MemoryStage::Normal);
        self.stage.store(stage as u8, Ordering::Relaxed);
        (stage != before).then_some(stage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_follows_the_free_memory_with_hysteresis() {
        use MemoryStage::{DropCache, Normal, PauseBatches, RefuseWork};

        let budget = MemoryBudget::new(Some(1000 << 20));
        let mut stages = Vec::new();
        for used_mib in [0, 799, 801, 760, 749, 860, 951, 940, 937, 901, 0] {
            budget.sample(used_mib << 20);
            stages.push((used_mib, budget.stage()));
        }
        let expected = [
            (0, Normal),
            (799, Normal),
            (801, PauseBatches),
            (760, PauseBatches),
            (749, Normal),
            (860, DropCache),
            (951, RefuseWork),
            (940, RefuseWork),
            (937, MemoryStage::RefuseLargeBodies),
            (901, MemoryStage::RefuseLargeBodies),
            (0, Normal),
        ];
        assert_eq!(stages, expected);
    }

    #[test]
    fn free_pages_are_kept_while_two_fifths_are_free() {
        let budget = MemoryBudget::new(Some(1000 << 20));
        for (used_mib, keeps_none) in [(0, false), (599, false), (601, true), (2000, true)] {
            budget.sample(used_mib << 20);
            assert_eq!(budget.keeps_no_pages(), keeps_none, "{used_mib}");
        }
    }

    #[test]
    fn reserve_of_a_large_machine_is_bounded() {
        let budget = MemoryBudget::new(Some(512 << 30));
        budget.sample(509 << 30);
        assert_eq!(budget.stage(), MemoryStage::Normal);
        budget.sample(511 << 30);
        assert_eq!(budget.stage(), MemoryStage::DropCache);
    }

    #[test]
    fn stage_decides_what_is_refused() {
        // Used MiB of 1,000; refused: a small body, a large one, a line of a batch.
        for (used, expected) in [
            (0, [false, false, false]),
            (810, [false, false, true]),
            (860, [false, false, true]),
            (910, [false, true, true]),
            (960, [true, true, true]),
            (2000, [true, true, true]),
        ] {
            let budget = MemoryBudget::new(Some(1000 << 20));
            budget.sample(used << 20);
            let refused = [
                budget.refuses(false, false),
                budget.refuses(true, false),
                budget.refuses(false, true),
            ];
            assert_eq!(refused, expected, "{used}");
            assert_eq!(budget.refused(), refused.into_iter().filter(|one| *one).count());
        }
    }
}
