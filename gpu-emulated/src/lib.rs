//! Cards for tests: the emulated driver of `gpu/cuda/emulated`, built by the machine's C++ compiler, and its cards.

#![expect(unsafe_code, reason = "faults are set by a function of the emulated driver's library")]

mod planted;

use std::ffi::{c_int, c_long};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread;

use gpu::sources::{PROBES, SOURCES};
use gpu::{Gpu, GpuOptions};
use libloading::Library;

pub use planted::{PLANTED, Planted};

/// The card of little memory.
pub const SMALL: usize = 2;
/// The card that is too old.
pub const OLD: usize = 3;
/// The card whose kernels return at once: what a step costs the processor.
pub const NULL: usize = 6;
/// The card that starts graphs with the arguments that they were made with, whatever was set since.
pub const STALE: usize = 7;
/// The card of the first planted mistake.
pub const FIRST_PLANTED: usize = 8;

/// What the emulated driver lets fail.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// An allocation, for want of memory.
    Allocation = 0,
    /// The start of a kernel.
    Launch = 1,
    /// The card: from then on every call fails.
    Loss = 2,
    /// The load of an image, as one of another compiler.
    Image = 3,
}

/// The built libraries.
#[derive(Debug)]
pub struct Emulator {
    folder: PathBuf,
    driver: Library,
    /// Whether variables that are not initialised are filled, so that reading one shows.
    pub fills_variables: bool,
}

/// GCC 12 and clang 8 know it.
const FILL: &str = "-ftrivial-auto-var-init=pattern";

static EMULATOR: OnceLock<Option<Emulator>> = OnceLock::new();

impl Emulator {
    /// The emulated driver, built below `folder` unless it is there already; `None` where there is no C++ compiler.
    ///
    /// # Panics
    /// If the sources do not compile.
    pub fn get(folder: &Path) -> Option<&'static Emulator> {
        EMULATOR.get_or_init(|| Emulator::new(folder)).as_ref()
    }

    fn new(target: &Path) -> Option<Emulator> {
        let compiler = compiler()?;
        let fills_variables = runs(compiler, &[FILL, "-fsyntax-only", "-x", "c++", "/dev/null"]);
        let folder = build(compiler, fills_variables, target);
        // SAFETY: the library is the one that was just built; its initialisers fill tables.
        let driver = unsafe { Library::new(folder.join("libcuda.so")) }.expect("it was built");
        Some(Emulator { folder, driver, fills_variables })
    }

    /// The folder of the libraries, in which a program finds them by `LD_LIBRARY_PATH`.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How to open a card of it.
    pub fn options(&self, index: usize) -> GpuOptions {
        let libraries = ["libcuda.so", "libnvrtc.so"].map(|name| self.folder.join(name));
        GpuOptions { index, cache: None, libraries: libraries.to_vec() }
    }

    /// Opens a card. Cards 0 and 1 are alike, but that card 1 runs lanes, warps and blocks from the last to the first.
    ///
    /// # Panics
    /// If it does not open.
    pub fn open(&self, index: usize) -> Gpu {
        Gpu::open(&self.options(index)).expect("the emulated card opens")
    }

    /// Lets the call number `calls` from now on fail.
    ///
    /// # Panics
    /// If the library is another.
    pub fn fail(&self, device: usize, fault: Fault, calls: usize) {
        let number = |n| c_int::try_from(n).expect("devices are few");
        let calls = c_long::try_from(calls).expect("calls are few");
        // SAFETY: the symbol has this type in driver.cpp.
        unsafe {
            let fail =
                self.driver.get::<unsafe extern "C" fn(c_int, c_int, c_long)>("emulated_fail");
            fail.expect("the driver has it")(number(device), fault as c_int, calls);
        }
    }
}

/// The fibers are written for x86-64, the libraries' names for Linux.
fn compiler() -> Option<&'static str> {
    let here = cfg!(all(target_arch = "x86_64", target_os = "linux"));
    ["g++", "clang++"].into_iter().find(|name| here && runs(name, &["--version"]))
}

fn runs(compiler: &str, args: &[&str]) -> bool {
    let mut command = Command::new(compiler);
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// One object: the file that is compiled, where, and its variant.
struct Object {
    folder: PathBuf,
    source: String,
    variant: usize,
}

/// Builds into a folder whose name has the digest of all sources, once for all runs.
fn build(compiler: &'static str, fill: bool, target: &Path) -> PathBuf {
    let cuda = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu/cuda");
    let mut files = Vec::new();
    for folder in [cuda.clone(), cuda.join("emulated")] {
        for entry in fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("a folder can be listed").path();
            if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut text = format!("{compiler} {PLANTED:?} {}", include_str!("lib.rs"));
    for file in &files {
        text.push_str(&fs::read_to_string(file).expect("sources are text"));
    }
    let digest = base::digest::of(text.as_bytes());
    let folder = target.join(format!("emulated-{}", &digest[7..23]));
    if folder.is_dir() {
        return folder;
    }
    let temporary = || tempfile::tempdir_in(target).expect("the target folder can be written");
    let (work, libraries) = (temporary(), temporary());
    let objects = compile((compiler, fill), &cuda, &files, work.path());
    link(compiler, &objects, &cuda, libraries.path());
    let built = libraries.keep();
    // Another run may have been faster; its folder has the same content.
    if fs::rename(&built, &folder).is_err() {
        fs::remove_dir_all(&built).expect("the folder was made here");
    }
    folder
}

/// Copies the sources for each variant and compiles one object each.
fn compile(
    (compiler, fill): (&'static str, bool),
    cuda: &Path,
    files: &[PathBuf],
    work: &Path,
) -> Vec<PathBuf> {
    let mut objects = Vec::new();
    for variant in 0..=PLANTED.len() {
        let folder = work.join(format!("variant-{variant}"));
        fs::create_dir_all(folder.join("emulated")).expect("the target folder can be written");
        for file in files {
            let name = file.strip_prefix(cuda).expect("it lies below");
            fs::copy(file, folder.join(name)).expect("the target folder can be written");
        }
        if variant == 0 {
            let sources =
                SOURCES.iter().chain(PROBES).map(|source| source.file.trim_end_matches(".cu"));
            for source in sources {
                objects.push(Object { folder: folder.clone(), source: source.to_owned(), variant });
            }
            for source in ["device", "driver"] {
                let source = format!("emulated/{source}.cpp");
                objects.push(Object { folder: folder.clone(), source, variant });
            }
        } else {
            let planted = PLANTED[variant - 1];
            let path = folder.join(planted.file);
            let text = fs::read_to_string(&path).expect("the source was copied");
            assert_eq!(text.matches(planted.from).count(), 1, "{planted:?} is for another source");
            fs::write(&path, text.replace(planted.from, planted.to)).expect("it can be written");
            objects.push(Object { folder, source: planted.compiled.to_owned(), variant });
        }
    }
    let queue = Mutex::new(objects.iter().enumerate());
    let names: Vec<PathBuf> = (0..objects.len()).map(|i| work.join(format!("{i}.o"))).collect();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some((i, object)) = queue.lock().expect("no worker panics here").next()
                    else {
                        return;
                    };
                    compile_one((compiler, fill), object, &names[i]);
                }
            });
        }
    });
    names
}

fn link(compiler: &str, objects: &[PathBuf], cuda: &Path, to: &Path) {
    let shared = |name: &str| {
        let mut command = Command::new(compiler);
        command.arg("-shared").arg(format!("-Wl,-soname,{name}")).arg("-o").arg(to.join(name));
        command
    };
    run(shared("libcuda.so").args(objects));
    run(shared("libnvrtc.so").args(["-std=c++17", "-fPIC"]).arg(cuda.join("emulated/nvrtc.cpp")));
}

fn compile_one((compiler, fill): (&str, bool), object: &Object, to: &Path) {
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O2", "-fPIC", "-ffp-contract=off", "-w", "-c"]).arg("-o").arg(to);
    // The library is loaded once and its variables of threads are few.
    command.arg("-ftls-model=initial-exec");
    if fill {
        command.arg(FILL);
    }
    if std::arch::is_x86_feature_detected!("fma") {
        // A multiply-add is an instruction and not a call; its bits are the same.
        command.arg("-mfma");
    }
    if object.source.starts_with("emulated/") {
        run(command.arg(object.folder.join(&object.source)));
        return;
    }
    // In a namespace without a name, so that variants of one template are not taken for each other.
    let unit = object.folder.join(format!("{}.cpp", object.source));
    let text = format!(
        "#include \"gpu.cuh\"\n#include <cmath>\nnamespace {{\n#include \"{}.cu\"\n}}\n",
        object.source
    );
    fs::write(&unit, text).expect("the target folder can be written");
    run(command.arg(format!("-DVARIANT={}", object.variant)).arg(unit));
}

fn run(command: &mut Command) {
    let output = command.output().expect("the compiler runs");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{log}");
}
