//! The evaluator: walks the syntax tree that minijinja's parser makes.
//!
//! minijinja's own machine does not serve: its strings carry no origins (see [`crate::text`]), and
//! its budget counts instructions alone, while one instruction may double a string, repeat it a
//! hundred million times or walk a lazy list for ever. Here every value is made through the
//! [`Heap`](super::heap::Heap), and operations that Hugging Face's sandbox does not define are
//! errors.

mod assign;
mod calls;
pub(super) mod evaluator;
mod expressions;
mod loops;
mod namespaces;
mod statements;
