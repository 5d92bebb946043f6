//! Lets a program carry the kernels' images: `TRIBUNAL_KERNELS` is the absolute path of the file that `cargo xtask gpu` writes.

use std::path::Path;

#[expect(clippy::disallowed_methods, reason = "a build script has no other settings")]
fn main() {
    println!("cargo::rerun-if-env-changed=TRIBUNAL_KERNELS");
    println!("cargo::rustc-check-cfg=cfg(embedded_kernels)");
    let Ok(file) = std::env::var("TRIBUNAL_KERNELS") else {
        return;
    };
    if !Path::new(&file).is_absolute() || !Path::new(&file).is_file() {
        println!("cargo::error=TRIBUNAL_KERNELS: {file} is not the absolute path of a file");
        return;
    }
    println!("cargo::rerun-if-changed={file}");
    println!("cargo::rustc-cfg=embedded_kernels");
    println!("cargo::rustc-env=TRIBUNAL_KERNELS_FILE={file}");
}
