//! The evaluator: walks the syntax tree that minijinja's parser makes.
//!
//! Why not minijinja's own machine: its strings do not know their origin (see [`crate::text`]), and
//! its budget counts instructions alone, while one instruction may double a string, repeat it a
//! hundred million times or walk a lazy list for ever. Here every value is made through the
//! [`Heap`](super::heap::Heap), and what is not defined in the sandbox of Hugging Face is not defined here.

mod assign;
mod calls;
pub(super) mod evaluator;
mod expressions;
mod loops;
mod namespaces;
mod statements;
