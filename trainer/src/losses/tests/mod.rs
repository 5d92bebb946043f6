//! Losses by golden numbers, by finite differences and by what must always hold.
