//! Images of all kernels for all architectures in one file, which a program may have inside it.
//!
//! The file: [`MAGIC`]; for each image a line of the digest of what it is made from and of its deflated length; an empty line;
//! the deflated images.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::sources::Source;

const MAGIC: &str = "tribunal kernels 1\n";

/// What `TRIBUNAL_KERNELS` named when the program was built.
#[cfg(embedded_kernels)]
static EMBEDDED: &[u8] = include_bytes!(env!("TRIBUNAL_KERNELS_FILE"));
#[cfg(not(embedded_kernels))]
static EMBEDDED: &[u8] = &[];

/// The image of this digest, if the program has it. Images of older sources have other digests, so they are never used.
pub(crate) fn embedded(made_from: &str) -> Option<Vec<u8>> {
    find(EMBEDDED, made_from)
}

fn find(file: &[u8], made_from: &str) -> Option<Vec<u8>> {
    let rest = file.strip_prefix(MAGIC.as_bytes())?;
    let end = rest.windows(2).position(|two| two == b"\n\n")?;
    let index = std::str::from_utf8(&rest[..end]).ok()?;
    let mut at = end + 2;
    for line in index.lines() {
        let (digest, len) = line.split_once(' ')?;
        let len: usize = len.parse().ok()?;
        if digest == made_from {
            let mut image = Vec::new();
            DeflateDecoder::new(rest.get(at..at + len)?).read_to_end(&mut image).ok()?;
            return Some(image);
        }
        at += len;
    }
    None
}

/// The file of these images, each of a source for an architecture: what `TRIBUNAL_KERNELS` may name when a program is built.
///
/// # Panics
/// Never: memory takes what is written.
pub fn pack<'a>(images: impl IntoIterator<Item = (&'a Source, &'a str, &'a [u8])>) -> Vec<u8> {
    let (mut index, mut bytes) = (String::from(MAGIC), Vec::new());
    for (source, architecture, image) in images {
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
        deflated.write_all(image).expect("memory takes it");
        let deflated = deflated.finish().expect("memory takes it");
        let digest = source.digest(architecture);
        writeln!(index, "{digest} {}", deflated.len()).expect("memory takes it");
        bytes.extend(deflated);
    }
    index.push('\n');
    [index.into_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::SOURCES;

    #[test]
    fn packed_images_are_found_by_what_they_are_made_from() {
        let images: Vec<Vec<u8>> = (0..3_u8).map(|i| vec![i; 100 * usize::from(i)]).collect();
        let architectures = ["sm_80", "sm_90a", "sm_120"];
        let all = images.iter().zip(architectures).zip(SOURCES);
        let file = pack(all.map(|((image, on), source)| (source, on, &image[..])));
        for ((image, architecture), source) in images.iter().zip(architectures).zip(SOURCES) {
            assert_eq!(find(&file, &source.digest(architecture)).as_ref(), Some(image));
        }
        assert_eq!(find(&file, &SOURCES[0].digest("sm_90a")), None);
        assert_eq!(find(&file[..file.len() - 1], &SOURCES[2].digest("sm_120")), None);
        assert_eq!(find(&[], &SOURCES[0].digest("sm_80")), None);
    }
}
