//! What a card is.

/// A card of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Its number, from 0.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its compute capability.
    pub capability: (u32, u32),
    /// Its memory.
    pub memory_bytes: usize,
}

impl Card {
    /// Whether the kernels run on it.
    pub fn is_usable(&self) -> bool {
        self.capability >= MIN_CAPABILITY
    }
}

/// The lowest compute capability with tensor cores for bf16.
const MIN_CAPABILITY: (u32, u32) = (8, 0);
