//! The arguments of a call.

use super::error::{RenderError, invalid};
use super::value::Value;

/// Evaluated arguments.
pub(super) struct Args<'t> {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(&'t str, Value)>,
}

impl Args<'_> {
    /// The argument at position `at`, or the one called `name`.
    pub(super) fn get(&self, at: usize, name: &str) -> Option<&Value> {
        self.positional
            .get(at)
            .or_else(|| self.named.iter().find(|(n, _)| *n == name).map(|(_, v)| v))
    }

    /// The argument at position `at` or called `name`; an error if it is missing.
    pub(super) fn need(&self, at: usize, name: &str) -> Result<&Value, RenderError> {
        self.get(at, name).ok_or_else(|| invalid(format!("the argument `{name}` is missing")))
    }

    /// Refuses positional arguments beyond `names`, and names that are not among them.
    pub(super) fn only(&self, of: &str, names: &[&str]) -> Result<(), RenderError> {
        if self.positional.len() > names.len() {
            return Err(invalid(format!(
                "`{of}` takes {} arguments, not {}",
                names.len(),
                self.positional.len()
            )));
        }
        match self.named.iter().find(|(n, _)| !names.contains(n)) {
            Some((name, _)) => Err(invalid(format!("`{of}` takes no argument `{name}`"))),
            None => Ok(()),
        }
    }
}
