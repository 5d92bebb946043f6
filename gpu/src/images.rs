//! The images of the kernels for one architecture: from the program, from the cache folder, or compiled.

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;

use base::digest;

use crate::driver;
use crate::error::Result;
use crate::packed;
use crate::sources::Source;

/// Where an image is from, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It is part of the program.
    Embedded,
    /// An earlier start compiled it.
    Cached,
    /// NVRTC compiled it, some seconds long.
    Compiled,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Embedded => "embedded",
            Origin::Cached => "cached",
            Origin::Compiled => "compiled",
        })
    }
}

/// The image of each source, in their order.
pub(crate) fn images(
    sources: &[Source],
    capability: (u32, u32),
    cache: Option<&Path>,
) -> Result<Vec<(Vec<u8>, Origin)>> {
    let architecture = architecture(capability);
    let image = |source| image(source, &architecture, cache);
    // The compiler is the slow part, and it works on several sources at a time.
    thread::scope(|scope| {
        let workers: Vec<_> =
            sources.iter().map(|source| scope.spawn(move || image(source))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().expect("the compiler does not panic")
        };
        workers.into_iter().map(join).collect()
    })
}

/// The name of a compute capability. Hopper's `a` has its own instructions and runs on no other.
fn architecture((major, minor): (u32, u32)) -> String {
    let own = if (major, minor) == (9, 0) { "a" } else { "" };
    format!("sm_{major}{minor}{own}")
}

fn image(source: &Source, architecture: &str, cache: Option<&Path>) -> Result<(Vec<u8>, Origin)> {
    if let Some(image) = packed::embedded(&source.digest(architecture)) {
        return Ok((image, Origin::Embedded));
    }
    if let Some(kept) = cache.and_then(|folder| kept(folder, source, architecture)) {
        return Ok((kept, Origin::Cached));
    }
    Ok((compiled(source, architecture, cache)?, Origin::Compiled))
}

/// The image of a source anew, for a driver that refuses the one that the program or the cache folder has.
pub(crate) fn recompiled(
    source: &Source,
    capability: (u32, u32),
    cache: Option<&Path>,
) -> Result<Vec<u8>> {
    compiled(source, &architecture(capability), cache)
}

fn compiled(source: &Source, architecture: &str, cache: Option<&Path>) -> Result<Vec<u8>> {
    let (image, _) = driver::compile(source, architecture)?;
    if let Some(folder) = cache {
        keep(&place(folder, source, architecture), &image);
    }
    Ok(image)
}

/// Where an image is kept: its name has the digest of everything that it is made from, and the compiler's version.
fn place(folder: &Path, source: &Source, architecture: &str) -> PathBuf {
    let version = driver::compiler_version();
    let version = version.map_or("none".to_owned(), |(major, minor)| format!("{major}.{minor}"));
    folder.join(stem(source, architecture) + &version)
}

fn stem(source: &Source, architecture: &str) -> String {
    let digest = source.digest(architecture);
    format!("{}-{architecture}-{}-", source.file, digest.trim_start_matches("sha256:"))
}

/// The kept image of a source; without a compiler that of any version.
fn kept(folder: &Path, source: &Source, architecture: &str) -> Option<Vec<u8>> {
    if driver::compiler_version().is_some() {
        return read(&place(folder, source, architecture));
    }
    newest(folder, &stem(source, architecture))
}

/// The last readable image, by name, of those whose name begins so.
fn newest(folder: &Path, stem: &str) -> Option<Vec<u8>> {
    let paths = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_of = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(stem))
    };
    let mut found: Vec<PathBuf> = paths.filter(is_of).collect();
    found.sort();
    found.iter().rev().find_map(|path| read(path))
}

/// A kept image: its digest goes before it, so that a file that was damaged is compiled anew.
fn read(place: &Path) -> Option<Vec<u8>> {
    let kept = std::fs::read(place).ok()?;
    let (said, image) = kept.split_at_checked(digest::of(&[]).len())?;
    (digest::of(image).as_bytes() == said).then(|| image.to_vec())
}

/// Keeps an image. A folder that cannot be written costs the next start the time of compiling, and nothing else.
fn keep(place: &Path, image: &[u8]) {
    let bytes = [digest::of(image).as_bytes(), image].concat();
    if let Some(folder) = place.parent()
        && std::fs::create_dir_all(folder).is_ok()
    {
        let _ = base::file::write_atomic(place, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_have_the_compilers_names() {
        let check = |capability, expected: &str| assert_eq!(architecture(capability), expected);
        check((8, 0), "sm_80");
        check((8, 9), "sm_89");
        check((9, 0), "sm_90a");
        check((10, 0), "sm_100");
        check((12, 0), "sm_120");
    }

    #[test]
    fn damaged_images_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let place = folder.path().join("new/image");
        keep(&place, b"image");
        assert_eq!(read(&place).as_deref(), Some(&b"image"[..]));
        let mut bytes = std::fs::read(&place).expect("it was kept");
        *bytes.last_mut().expect("it has bytes") ^= 1;
        std::fs::write(&place, bytes).expect("the folder can be written");
        assert_eq!(read(&place), None);
        assert_eq!(read(&folder.path().join("absent")), None);
        // Without a compiler any version's image of the source is taken, and no other source's.
        let folder = folder.path().join("versions");
        keep(&folder.join("a-sm_80-1-12.8"), b"old");
        keep(&folder.join("a-sm_80-1-12.9"), b"new");
        keep(&folder.join("a-sm_80-2-13.0"), b"other");
        assert_eq!(newest(&folder, "a-sm_80-1-").as_deref(), Some(&b"new"[..]));
        assert_eq!(newest(&folder, "a-sm_80-3-"), None);
        // A folder that cannot be made is no failure.
        keep(&place.join("below a file"), b"image");
    }
}
