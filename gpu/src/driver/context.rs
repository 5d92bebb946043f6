//! A card's context with its one stream, and what lives in it. Every handle keeps the context alive.

use std::ffi::CString;
use std::sync::Arc;

use cudarc::driver::{result, sys};

use super::{check, check_start, device, pointer};
use crate::error::{GpuError, Result};

/// A card's primary context and the stream that orders all work on it.
#[derive(Debug)]
pub(crate) struct Context {
    device: sys::CUdevice,
    handle: sys::CUcontext,
    stream: sys::CUstream,
}

// SAFETY: the driver's functions may be called by any thread that has made the context current, which every call below
// does first.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks its own state.
unsafe impl Sync for Context {}

impl Context {
    pub(crate) fn new(index: usize) -> Result<Arc<Context>> {
        let device = device(index)?;
        // SAFETY: the driver gave the device; the context is released with the value.
        let handle =
            check("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        let mut made = Context { device, handle, stream: std::ptr::null_mut() };
        made.bind()?;
        made.stream = check(
            "cuStreamCreate",
            result::stream::create(result::stream::StreamKind::NonBlocking),
        )?;
        Ok(Arc::new(made))
    }

    /// Makes the context that of this thread.
    pub(super) fn bind(&self) -> Result<()> {
        // SAFETY: the context is retained as long as this value.
        check("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.handle) })
    }

    pub(super) fn stream(&self) -> sys::CUstream {
        self.stream
    }

    /// Waits for all work so far.
    pub(crate) fn wait(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: the stream lives as long as this value.
        check("cuStreamSynchronize", unsafe { result::stream::synchronize(self.stream) })
    }

    /// Bytes that are free, and all bytes.
    pub(crate) fn memory(&self) -> Result<(usize, usize)> {
        self.bind()?;
        check("cuMemGetInfo", result::mem_get_info())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Errors here are those of work that nobody waited for, or of a card that is lost.
        let _ = self.bind();
        if !self.stream.is_null() {
            // SAFETY: the stream was made with this value and is not used again.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
        // SAFETY: it was retained once, with this value.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// An allocation on the card. Its content is undefined until it is written.
#[derive(Debug)]
pub(crate) struct Memory {
    context: Arc<Context>,
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Memory> {
        context.bind()?;
        // The driver refuses an allocation of nothing.
        let room = bytes.max(1);
        // SAFETY: the address is freed with the value.
        let address = unsafe { result::malloc_sync(room) }.map_err(|error| {
            let full = error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
            match context.memory() {
                Ok((free, total)) if full => GpuError::OutOfMemory { wanted: bytes, free, total },
                Ok(_) | Err(_) => {
                    check::<()>("cuMemAlloc", Err(error)).expect_err("it is an error")
                }
            }
        })?;
        Ok(Memory { context: context.clone(), address, bytes })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies numbers to byte `at` on; the host's may change when it returns.
    pub(crate) fn write<T: Copy>(&self, at: usize, from: &[T]) -> Result<()> {
        let address = self.range(at, size_of_val(from));
        self.context.bind()?;
        // SAFETY: the range lies in the allocation; `T` is a number, so its bytes are defined, and pageable memory has
        // been read when the call returns.
        check("cuMemcpyHtoDAsync", unsafe {
            result::memcpy_htod_async(address, from, self.context.stream)
        })
    }

    /// Copies the first `bytes` of a pinned buffer, which must not change before the stream has come to it.
    pub(crate) fn write_pinned(&self, from: &Pinned, bytes: usize) -> Result<()> {
        let address = self.range(0, bytes);
        self.context.bind()?;
        // SAFETY: as above; the pinned buffer outlives the copy, since its owner waits before it writes or frees it.
        check("cuMemcpyHtoDAsync", unsafe {
            result::memcpy_htod_async(address, &from.bytes()[..bytes], self.context.stream)
        })
    }

    /// Waits, and copies numbers from byte `at` on.
    pub(crate) fn read<T: Copy>(&self, at: usize, to: &mut [T]) -> Result<()> {
        let address = self.range(at, size_of_val(to));
        self.context.bind()?;
        // SAFETY: the range lies in the allocation, any bits are a `T`, and the call below waits before `to` is used.
        check("cuMemcpyDtoHAsync", unsafe {
            result::memcpy_dtoh_async(to, address, self.context.stream)
        })?;
        self.context.wait()
    }

    /// Fills bytes with zeros.
    pub(crate) fn clear(&self, at: usize, bytes: usize) -> Result<()> {
        let address = self.range(at, bytes);
        self.context.bind()?;
        // SAFETY: the range lies in the allocation.
        check("cuMemsetD8Async", unsafe {
            result::memset_d8_async(address, 0, bytes, self.context.stream)
        })
    }

    fn range(&self, at: usize, bytes: usize) -> u64 {
        assert!(at + bytes <= self.bytes, "bytes {at}.. of {bytes} lie in {}", self.bytes);
        self.address + at as u64
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: the address was allocated with this value; the driver waits for work that uses it.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// Memory of the host that the card reads by itself.
#[derive(Debug)]
pub(crate) struct Pinned {
    context: Arc<Context>,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is owned, and reached through borrows of the value only.
unsafe impl Send for Pinned {}

impl Pinned {
    pub(crate) fn new(context: &Arc<Context>, bytes: usize) -> Result<Pinned> {
        context.bind()?;
        // SAFETY: the address is freed with the value, and every byte is set below before it is read.
        let address: *mut u8 =
            check("cuMemHostAlloc", unsafe { result::malloc_host(bytes, 0) })?.cast();
        // SAFETY: the allocation is that long.
        unsafe { address.write_bytes(0, bytes) };
        Ok(Pinned { context: context.clone(), address, bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the allocation is that long, and its bytes are set.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// Copies numbers to byte `at` on.
    pub(crate) fn put<T: Copy>(&mut self, at: usize, from: &[T]) {
        let bytes = size_of_val(from);
        assert!(at + bytes <= self.bytes, "bytes {at}.. of {bytes} lie in {}", self.bytes);
        // SAFETY: the range lies in the allocation, which `from` does not overlap.
        unsafe { self.address.add(at).copy_from_nonoverlapping(from.as_ptr().cast(), bytes) };
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The card may be reading.
        let _ = self.context.wait();
        // SAFETY: it was allocated with this value.
        let _ = unsafe { result::free_host(self.address.cast()) };
    }
}

/// A mark in the stream.
#[derive(Debug)]
pub(crate) struct Event {
    context: Arc<Context>,
    event: sys::CUevent,
}

// SAFETY: as for the context.
unsafe impl Send for Event {}

impl Event {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Event> {
        context.bind()?;
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
        let event = check("cuEventCreate", result::event::create(flags))?;
        Ok(Event { context: context.clone(), event })
    }

    /// Marks the end of the work so far.
    pub(crate) fn record(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: event and stream live as long as this value.
        check("cuEventRecord", unsafe { result::event::record(self.event, self.context.stream) })
    }

    /// Waits for the work before the mark; returns at once where nothing was marked.
    pub(crate) fn wait(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: as above.
        check("cuEventSynchronize", unsafe { result::event::synchronize(self.event) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: it was made with this value and is not used again.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}

/// A loaded image.
#[derive(Debug)]
pub(crate) struct Module {
    context: Arc<Context>,
    module: sys::CUmodule,
}

// SAFETY: as for the context.
unsafe impl Send for Module {}
// SAFETY: as for the context.
unsafe impl Sync for Module {}

impl Module {
    /// Loads an image, which ends with a zero byte if it is text.
    pub(crate) fn new(context: &Arc<Context>, image: &[u8]) -> Result<Module> {
        context.bind()?;
        // SAFETY: the image is alive to the end of the call, in which the driver copies it; its length is in itself.
        let module =
            check("cuModuleLoadData", unsafe { result::module::load_data(image.as_ptr().cast()) })?;
        Ok(Module { context: context.clone(), module })
    }

    /// A kernel, allowed `shared` bytes of shared memory a block.
    pub(crate) fn function(
        self: &Arc<Module>,
        name: &'static str,
        shared: u32,
    ) -> Result<KernelFunction> {
        self.context.bind()?;
        let text = CString::new(name).expect("a kernel's name has no zero byte");
        // SAFETY: the module is loaded, and stays so as long as the function.
        let function = check("cuModuleGetFunction", unsafe {
            result::module::get_function(self.module, text)
        })?;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(shared).expect("shared memory is some hundred KiB");
        // SAFETY: as above.
        check("cuFuncSetAttribute", unsafe {
            result::function::set_function_attribute(function, attribute, bytes)
        })?;
        Ok(KernelFunction { module: self.clone(), handle: function, name })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: it was loaded with this value, and its functions are gone.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// A kernel of a loaded image.
#[derive(Debug)]
pub(crate) struct KernelFunction {
    module: Arc<Module>,
    handle: sys::CUfunction,
    name: &'static str,
}

// SAFETY: as for the context.
unsafe impl Send for KernelFunction {}
// SAFETY: as for the context.
unsafe impl Sync for KernelFunction {}

impl KernelFunction {
    pub(super) fn handle(&self) -> sys::CUfunction {
        self.handle
    }

    /// Starts `blocks` of `threads` with `shared` bytes each. `params` is the structure that the kernel takes, and what
    /// it points to stays allocated until the stream has come past it: memory is freed by a call that waits.
    pub(crate) fn launch<P: Copy>(
        &self,
        blocks: [u32; 3],
        threads: u32,
        shared: u32,
        params: &P,
    ) -> Result<()> {
        let context = &self.module.context;
        context.bind()?;
        let [x, y, z] = blocks;
        // SAFETY: function and stream are alive, and the parameters are copied in the call. That they are the kernel's
        // own structure, with pointers to enough memory, is held by `kernels`, its only caller.
        let started = unsafe {
            result::launch_kernel(
                self.handle,
                (x, y, z),
                (threads, 1, 1),
                shared,
                context.stream,
                &mut [pointer(params)],
            )
        };
        check_start(self.name, started)
    }
}
