//! Rubrics that come with the crate.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::definition::Rubric;
use super::file::{DEFENCE_TEXT, parse};

/// By the names that follow `builtin:`.
const FILES: &[(&str, &str)] = &[
    ("defence", DEFENCE_TEXT),
    ("instruction", include_str!("../../rubrics/instruction.toml")),
    ("writing", include_str!("../../rubrics/writing.toml")),
];

static BUILT_IN: LazyLock<BTreeMap<&'static str, Arc<Rubric>>> = LazyLock::new(|| {
    let read = |(name, text): &(&'static str, &str)| {
        let rubric = parse(name, text, &[]).expect("the rubrics that come with us are valid");
        (*name, Arc::new(rubric))
    };
    FILES.iter().map(read).collect()
});

/// The rubric that comes with the crate under this name.
pub fn built_in(name: &str) -> Option<Arc<Rubric>> {
    BUILT_IN.get(name).cloned()
}

/// The names of those that come with the crate.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}
