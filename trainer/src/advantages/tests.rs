//! Advantages by golden numbers and by what must always hold.
