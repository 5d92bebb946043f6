//! Losses, one pure function a paper: numbers in, a value and its gradient out.
