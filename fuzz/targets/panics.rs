//! Panics that a library of the program's may have, because the caller catches them.

/// Ends the process at a panic, as libFuzzer wants it, except at one of another project's code: that is
/// an error where it is caught, and ends the process where it is not.
pub(crate) fn of_libraries_pass() {
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_ours = |place: &std::panic::Location<'_>| !place.file().contains("/registry/src/");
        if panic.location().is_none_or(is_ours) {
            ends(panic);
        }
    }));
}
