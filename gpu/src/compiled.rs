//! Kernels compiled apart from a card, and what the compiler reports of them.

use std::path::Path;

use crate::driver;
use crate::error::Result;
use crate::sources::Source;

/// The image of a source, and its kernels.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What the driver loads.
    pub image: Vec<u8>,
    /// In the compiler's order.
    pub kernels: Vec<KernelUse>,
}

/// What a kernel uses of a multiprocessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelUse {
    /// The kernel's name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread that are kept outside of registers.
    pub stack_bytes: u32,
    /// Bytes of registers that are written to memory and read again, because there are too few.
    pub spill_bytes: u32,
}

/// Compiles a source for an architecture, such as `sm_90a`. `library` is NVRTC, where the system's loader does not
/// know it.
///
/// # Errors
/// [`crate::GpuError::NoCompiler`], [`crate::GpuError::Compile`].
pub fn compile(source: &Source, architecture: &str, library: Option<&Path>) -> Result<Compiled> {
    if let Some(library) = library {
        driver::load(library);
    }
    let (image, report) = driver::compile(source, architecture)?;
    Ok(Compiled { image, kernels: read(&report) })
}

/// Reads the report of ptxas: for each kernel a line with its name, one with its stack, one with its registers.
fn read(report: &str) -> Vec<KernelUse> {
    let mut kernels: Vec<KernelUse> = Vec::new();
    for line in report.lines() {
        if let Some((_, name)) = line.split_once("Compiling entry function '") {
            let name = name.split('\'').next().unwrap_or_default().to_owned();
            kernels.push(KernelUse { name, ..KernelUse::default() });
        }
        let Some(kernel) = kernels.last_mut() else {
            continue;
        };
        let before = |what: &str| -> Option<u32> {
            line.split_once(what)?.0.split_whitespace().next_back()?.parse().ok()
        };
        if let Some(bytes) = before(" bytes stack frame") {
            kernel.stack_bytes = bytes;
            let spills = [" bytes spill stores", " bytes spill loads"].map(before);
            kernel.spill_bytes = spills.into_iter().flatten().sum();
        }
        if let Some(registers) = before(" registers") {
            kernel.registers = registers;
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let report = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'norm_block' for 'sm_80'
ptxas info    : Function properties for norm_block
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 23 registers, used 1 barriers, 408 bytes cmem[0]
ptxas info    : Compiling entry function 'attend_256' for 'sm_80'
ptxas info    : Function properties for attend_256
    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers
";
        let kernel = |name: &str, registers, stack_bytes, spill_bytes| KernelUse {
            name: name.to_owned(),
            registers,
            stack_bytes,
            spill_bytes,
        };
        let expected = [kernel("norm_block", 23, 0, 0), kernel("attend_256", 255, 24, 36)];
        assert_eq!(read(report), expected);
        assert_eq!(read(""), []);
    }
}
