//! The driver's functions that are called here, each with its typed error: the one place with unsafe code.
//!
//! cudarc looks each function up in the library at its first call and panics where there is no library, so
//! [`is_present`] is checked before anything else.

#![expect(unsafe_code, reason = "every function of a foreign library is")]

mod compiler;
mod context;
mod graph;
mod library;

use std::ffi::{c_int, c_void};

use cudarc::driver::{DriverError, result, sys};

pub(crate) use compiler::{compile, version as compiler_version};
pub(crate) use context::{Context, Event, KernelFunction, Memory, Module, Pinned};
pub(crate) use graph::{GraphNode, KernelGraph};
pub(crate) use library::{has_compiler, load};

use crate::card::Card;
use crate::error::{GpuError, Result};

/// The CUDA version from which drivers load images of any 12.x compiler.
const MIN_DRIVER: (u32, u32) = (12, 0);

/// Initialises the driver and returns its CUDA version.
pub(crate) fn version() -> Result<(u32, u32)> {
    if !library::has_driver() {
        return Err(GpuError::NoDriver);
    }
    check("cuInit", result::init())?;
    let mut version: c_int = 0;
    // SAFETY: the library is there, and the pointer is to an integer of this frame.
    check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&raw mut version) }.result())?;
    let version = version.unsigned_abs();
    let found = (version / 1000, version % 1000 / 10);
    if found < MIN_DRIVER {
        return Err(GpuError::OldDriver { found, needed: MIN_DRIVER });
    }
    Ok(found)
}

/// The number of cards, after [`version`].
pub(crate) fn count() -> Result<usize> {
    let count = check("cuDeviceGetCount", result::device::get_count())?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// One of the cards that [`count`] counts.
pub(crate) fn card(index: usize) -> Result<Card> {
    let device = device(index)?;
    let name = check("cuDeviceGetName", result::device::get_name(device))?;
    let attribute = |which| {
        // SAFETY: the device is one that the driver gave.
        let value = unsafe { result::device::get_attribute(device, which) };
        check("cuDeviceGetAttribute", value).map(c_int::unsigned_abs)
    };
    let major = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    let minor = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
    // SAFETY: as above.
    let memory_bytes = check("cuDeviceTotalMem", unsafe { result::device::total_mem(device) })?;
    Ok(Card { index, name, capability: (attribute(major)?, attribute(minor)?), memory_bytes })
}

/// Shared memory that a block of the card may ask for.
pub(crate) fn shared_bytes(index: usize) -> Result<u32> {
    let which = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    // SAFETY: the device is one that the driver gave.
    let value = unsafe { result::device::get_attribute(device(index)?, which) };
    check("cuDeviceGetAttribute", value).map(c_int::unsigned_abs)
}

fn device(index: usize) -> Result<sys::CUdevice> {
    let count = count()?;
    let ordinal = c_int::try_from(index).ok().filter(|_| index < count);
    let ordinal = ordinal.ok_or(GpuError::NoSuchCard { index, count })?;
    check("cuDeviceGet", result::device::get(ordinal))
}

/// The error of a call, by what a caller can do about it.
fn check<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T> {
    result.map_err(|error| {
        let what = what(error);
        if is_lost(error.0) { GpuError::Lost(what) } else { GpuError::Driver { call, what } }
    })
}

/// The error of a call that starts work.
fn check_start(name: &str, result: Result<(), DriverError>) -> Result<()> {
    result.map_err(|error| {
        let what = what(error);
        if is_lost(error.0) {
            GpuError::Lost(what)
        } else {
            GpuError::Launch { kernel: name.to_owned(), what }
        }
    })
}

/// The driver's text for an error, with its number.
fn what(error: DriverError) -> String {
    let text = error.error_string().map(|text| text.to_string_lossy().into_owned());
    format!("{} (CUDA error {})", text.unwrap_or_default(), error.0 as u32)
}

/// Whether an error stays until the process ends: the driver answers every later call with it.
fn is_lost(code: sys::CUresult) -> bool {
    // Uncorrectable ECC, NVLink, faults of the bus and of contained memory; from 700 on the errors of a running kernel,
    // but for 701, a launch that asks for too much; 999 is what a card gives that fell off the bus.
    let code = code as u32;
    matches!(code, 214 | 220 | 224..=226 | 999)
        || ((700..=720).contains(&code) && !matches!(code, 701 | 704 | 705 | 712 | 713 | 720))
}

/// A pointer to the bytes of a structure that a kernel takes.
pub(crate) fn pointer<P>(params: &P) -> *mut c_void {
    std::ptr::from_ref(params).cast_mut().cast()
}
