//! Compiles every kernel for every architecture and reads the compiler's report: `cargo xtask gpu` runs it with NVRTC. A kernel
//! that keeps registers in memory fails.
//!
//! Usage: `compile LIBNVRTC FILE`; the images go to FILE, for `TRIBUNAL_KERNELS`. The last line is `N passed, N failed, 0 skipped`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use gpu::Compiled;
use gpu::sources::{Source, all_builds};

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let [library, file] = &args[..] else {
        eprintln!("usage: compile LIBNVRTC FILE");
        return ExitCode::from(2);
    };
    let library = Path::new(library);
    let queue = Mutex::new(all_builds());
    let counts = Mutex::new((0, 0));
    let images = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no worker panics").next();
                    let Some((source, architecture)) = next else {
                        return;
                    };
                    let start = Instant::now();
                    let compiled = gpu::compile(source, architecture, Some(library));
                    let found = compiled.map_err(|error| error.to_string()).and_then(|compiled| {
                        let text = found(source, &compiled)?;
                        let image = (source, architecture, compiled.image);
                        images.lock().expect("no worker panics").push(image);
                        Ok(text)
                    });
                    let seconds = start.elapsed().as_secs_f64();
                    let mut counts = counts.lock().expect("no worker panics");
                    let (status, text) = match found {
                        Ok(text) => ("ok", text),
                        Err(text) => ("FAILED", text),
                    };
                    if status == "ok" {
                        counts.0 += 1;
                    } else {
                        counts.1 += 1;
                    }
                    println!(
                        "{architecture:8} {:12} {status:6} {text}, {seconds:.1} s",
                        source.file
                    );
                }
            });
        }
    });
    let (passed, failed) = counts.into_inner().expect("no worker panics");
    let images = images.into_inner().expect("no worker panics");
    let packed = gpu::pack(images.iter().map(|(source, on, image)| (*source, *on, &image[..])));
    println!("{} KiB of images in {}", packed.len() / 1024, Path::new(file).display());
    if let Err(error) = std::fs::write(file, packed) {
        eprintln!("error: {}: {error}", Path::new(file).display());
        return ExitCode::FAILURE;
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the compiler made of a source, or what is wrong with it.
fn found(source: &Source, compiled: &Compiled) -> Result<String, String> {
    let Compiled { image, kernels } = compiled;
    let spills = kernels.iter().filter(|kernel| kernel.spill_bytes + kernel.stack_bytes > 0);
    let spills: Vec<String> = spills
        .map(|kernel| format!("{} ({} + {})", kernel.name, kernel.stack_bytes, kernel.spill_bytes))
        .collect();
    if !spills.is_empty() {
        return Err(format!("bytes of stack and of spills: {}", spills.join(", ")));
    }
    // A kernel that the table lacks would never run; one that the source lacks would fail on a card.
    let mut names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let mut table: Vec<&str> = source.kernels.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    table.sort_unstable();
    if names != table {
        return Err(format!("kernels {names:?}, and in the table {table:?}"));
    }
    let most = kernels.iter().map(|kernel| kernel.registers).max().unwrap_or(0);
    let kib = image.len() / 1024;
    Ok(format!("{} kernels, at most {most} registers, {kib} KiB", kernels.len()))
}
