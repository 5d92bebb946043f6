//! What a machine with a card is checked and measured by, at tiny sizes on the emulated driver, too.

pub mod agreement;
pub mod bits;
pub mod subject;
