//! The allocator of the program: requests are made of many small texts, and the system's allocator took a
//! sixth of the server's time.

use std::sync::LazyLock;

use ::serve::memory::AllocatorHooks;
use libmimalloc_sys::{mi_collect, mi_option_get, mi_option_set, mi_option_t};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Milliseconds after which free pages go back to the system, 0 for at once and −1 for never:
/// `mi_option_purge_delay` of mimalloc.h, for which its crate has no name.
const PURGE_DELAY: mi_option_t = 15;

/// The delay with which the process was started.
static GIVEN_DELAY: LazyLock<std::ffi::c_long> = LazyLock::new(|| {
    #[expect(unsafe_code, reason = "the allocator's options are C functions")]
    // SAFETY: it reads a number among the options of the allocator, which has that many.
    unsafe {
        mi_option_get(PURGE_DELAY)
    }
});

/// The calls that the server makes as its memory fills.
pub(crate) const HOOKS: AllocatorHooks = AllocatorHooks { keep_pages, collect };

/// Keeps the pages that a training step gave back for the next step, which takes as many again. To have
/// them cleared anew by the system took a run a twelfth of its time.
pub(crate) fn keep_free_pages() {
    set_delay(-1);
}

fn keep_pages(keeps: bool) {
    let given = *GIVEN_DELAY;
    set_delay(if keeps { given } else { 0 });
}

#[expect(unsafe_code, reason = "the allocator's options are C functions")]
fn set_delay(milliseconds: std::ffi::c_long) {
    // SAFETY: it stores a number among the options of the allocator, which has that many.
    unsafe { mi_option_set(PURGE_DELAY, milliseconds) };
}

#[expect(unsafe_code, reason = "the allocator's calls are C functions")]
fn collect() {
    // SAFETY: it may be called by any thread at any time.
    unsafe { mi_collect(true) };
}
