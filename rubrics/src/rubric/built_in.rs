//! Rubrics that come with the crate.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::{Item, Rubric, file};

/// By the names that follow `builtin:`.
const FILES: &[(&str, &str)] = &[
    ("defence", include_str!("../../rubrics/defence.toml")),
    ("instruction", include_str!("../../rubrics/instruction.toml")),
    ("writing", include_str!("../../rubrics/writing.toml")),
];

static BUILT_IN: LazyLock<BTreeMap<&'static str, Arc<Rubric>>> = LazyLock::new(|| {
    let read = |(name, text): &(&'static str, &str)| {
        let rubric = file::parse(name, text, &[]).expect("the rubrics that come with us are valid");
        (*name, Arc::new(rubric))
    };
    FILES.iter().map(read).collect()
});

/// The items of the defence, read on their own: the rubrics beside it refer to it.
static DEFENCE: LazyLock<Vec<Item>> = LazyLock::new(|| {
    let (name, text) = FILES[0];
    let rubric = file::parse(name, text, &[]).expect("the defence is valid");
    let named = rubric.items.into_iter().map(|item| Item {
        id: format!("defence:{}", item.id),
        points: 0.0,
        ..item
    });
    named.collect()
});

/// The rubric that comes with the crate under this name.
pub fn built_in(name: &str) -> Option<Arc<Rubric>> {
    BUILT_IN.get(name).cloned()
}

/// The names of those that come with the crate.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The vetoes of the defence, without weight, for rubrics that add them to their own items.
pub(super) fn defence_items() -> Vec<Item> {
    DEFENCE.clone()
}
