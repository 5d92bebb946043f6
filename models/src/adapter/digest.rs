//! An adapter's identity: its content, not its location.
//!
//! SHA-256 over, for every site in order, its name, its shape, its scale and its numbers as f32,
//! then over the head's. The configuration enters as its effect at each site (rank and scale);
//! fields without effect, such as the path of the base, do not.

use sha2::{Digest as _, Sha256};

use crate::weights::Site;

/// Accumulates the digest of the content.
#[derive(Debug)]
pub(super) struct ContentDigest(Sha256);

impl ContentDigest {
    pub(super) fn new() -> ContentDigest {
        // A change of the format below needs another name.
        ContentDigest(Sha256::new_with_prefix(b"tribunal adapter 1\n"))
    }

    /// One factor of a site; `scale` is that of the update.
    pub(super) fn factor(&mut self, site: Site, scale: f32, shape: [usize; 2], numbers: &[f32]) {
        self.part(&format!("{site}"), scale, shape, numbers);
    }

    /// A part of the head.
    pub(super) fn head(&mut self, shape: [usize; 2], numbers: &[f32]) {
        self.part("head", 1.0, shape, numbers);
    }

    /// Returns the digest as `sha256:…`.
    pub(super) fn finish(self) -> String {
        let bytes = self.0.finalize();
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        format!("sha256:{}", digits.collect::<String>())
    }

    fn part(&mut self, name: &str, scale: f32, shape: [usize; 2], numbers: &[f32]) {
        let [rows, cols] = shape;
        self.0.update(format!("{name} {:08x} {rows} {cols}\n", scale.to_bits()));
        for block in numbers.chunks(1 << 14) {
            let bytes: Vec<u8> = block.iter().flat_map(|x| x.to_le_bytes()).collect();
            self.0.update(bytes);
        }
    }
}
