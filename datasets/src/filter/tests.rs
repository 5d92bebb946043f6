//! Questions and their answers.
