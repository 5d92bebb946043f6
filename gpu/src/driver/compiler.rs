//! NVRTC: from CUDA C++ to the image of an architecture.

use std::ffi::{CString, c_char, c_int};

use cudarc::nvrtc::result::NvrtcError;
use cudarc::nvrtc::sys;

use crate::error::{GpuError, Result};
use crate::sources::{HEADERS, Source};

/// The compiler's version, if it is installed.
pub(crate) fn version() -> Option<(u32, u32)> {
    if !super::has_compiler() {
        return None;
    }
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: the library is there, and both pointers are to integers of this frame.
    unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result().ok()?;
    Some((major.unsigned_abs(), minor.unsigned_abs()))
}

/// The image of a source for an architecture such as `sm_90`, and the compiler's report.
pub(crate) fn compile(source: &Source, architecture: &str) -> Result<(Vec<u8>, String)> {
    if !super::has_compiler() {
        return Err(GpuError::NoCompiler);
    }
    let program = Program::new(source, architecture)?;
    let options = [
        format!("--gpu-architecture={architecture}"),
        "--std=c++17".to_owned(),
        // A fused multiply-add only where the source says so.
        "--fmad=false".to_owned(),
        "--ptxas-options=-v".to_owned(),
    ];
    let options: Vec<CString> = options.into_iter().map(|option| c_string(&option)).collect();
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let n = c_int::try_from(pointers.len()).expect("there are four options");
    // SAFETY: the program is alive, and so are the options, to the end of the call.
    let compiled =
        unsafe { sys::nvrtcCompileProgram(program.handle, n, pointers.as_ptr()) }.result();
    let log = program.log();
    compiled.map_err(|error| program.error(format!("{error}: {log}")))?;
    let mut size = 0;
    // SAFETY: the program is alive and compiled; the image is as long as the call before says.
    let image = unsafe {
        let sized = sys::nvrtcGetCUBINSize(program.handle, &raw mut size).result();
        sized.map_err(|error| program.error(error.to_string()))?;
        let mut image = vec![0u8; size];
        let copied = sys::nvrtcGetCUBIN(program.handle, image.as_mut_ptr().cast()).result();
        copied.map_err(|error| program.error(error.to_string()))?;
        image
    };
    Ok((image, log))
}

/// A program of the compiler, which is destroyed with this.
struct Program<'a> {
    handle: sys::nvrtcProgram,
    source: &'a Source,
    architecture: &'a str,
}

impl<'a> Program<'a> {
    fn new(source: &'a Source, architecture: &'a str) -> Result<Program<'a>> {
        let headers: Vec<CString> = HEADERS.iter().map(|header| c_string(header.text)).collect();
        let names: Vec<CString> = HEADERS.iter().map(|header| c_string(header.file)).collect();
        let headers: Vec<*const c_char> = headers.iter().map(|header| header.as_ptr()).collect();
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let n = c_int::try_from(headers.len()).expect("there are few headers");
        let mut program = Program { handle: std::ptr::null_mut(), source, architecture };
        // SAFETY: all texts live to the end of the call, in which the compiler copies them.
        let made = unsafe {
            sys::nvrtcCreateProgram(
                &raw mut program.handle,
                c_string(source.text).as_ptr(),
                c_string(source.file).as_ptr(),
                n,
                headers.as_ptr(),
                names.as_ptr(),
            )
        };
        made.result().map_err(|error: NvrtcError| program.error(error.to_string()))?;
        Ok(program)
    }

    fn error(&self, log: String) -> GpuError {
        let (file, architecture) = (self.source.file.to_owned(), self.architecture.to_owned());
        GpuError::Compile { file, architecture, log }
    }

    fn log(&self) -> String {
        let mut size = 0;
        // SAFETY: the program is alive; the text is as long as the first call says.
        unsafe {
            if sys::nvrtcGetProgramLogSize(self.handle, &raw mut size).result().is_err() {
                return String::new();
            }
            let mut log = vec![0u8; size];
            if sys::nvrtcGetProgramLog(self.handle, log.as_mut_ptr().cast()).result().is_err() {
                return String::new();
            }
            String::from_utf8_lossy(&log).trim_end_matches('\0').trim_end().to_owned()
        }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the program was made above and is not used again. There is nothing to do about an error.
            let _ = unsafe { sys::nvrtcDestroyProgram(&raw mut self.handle) }.result();
        }
    }
}

/// A text of this program for the compiler.
fn c_string(text: &str) -> CString {
    CString::new(text).expect("no source, name or option has a zero byte")
}
