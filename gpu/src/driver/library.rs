//! Finds the driver and the compiler.

use std::path::Path;

use libloading::Library;

/// Where containers put the driver without telling the loader of the system.
const DRIVER_PLACES: &[&str] =
    &["/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"];

pub(super) fn has_driver() -> bool {
    // SAFETY: opening the driver runs its initialisers, which is what an installed driver is for.
    let by_name = || unsafe { cudarc::driver::sys::is_culib_present() };
    by_name() || (DRIVER_PLACES.iter().any(|place| load(Path::new(place))) && by_name())
}

/// Whether NVRTC is installed.
pub(crate) fn has_compiler() -> bool {
    // SAFETY: as above.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

/// Loads a library from its path for good, and says whether it could. A library that is looked for by name afterwards
/// is this one, if its own name (SONAME) is that.
pub(crate) fn load(path: &Path) -> bool {
    // SAFETY: as above; the path is one that the user or the table above names as a driver's or a compiler's.
    match unsafe { Library::new(path) } {
        Ok(library) => {
            std::mem::forget(library);
            true
        }
        Err(_) => false,
    }
}
