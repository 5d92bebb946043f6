//! CRC-32C (Castagnoli), the checksum of record files.

/// The polynomial 0x1EDC6F41 with reversed bits.
const POLYNOMIAL: u32 = 0x82F6_3B78;

const TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

/// The checksum of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = crc.to_le_bytes();
        crc >> 8 ^ TABLE[usize::from(low ^ byte)]
    };
    !bytes.iter().fold(!0, step)
}

/// The checksum as record files store it: rotated and offset, so that a checksum over data that
/// contains checksums stays useful.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors() {
        let check = |bytes: &[u8], expected: u32| assert_eq!(crc32c(bytes), expected, "{bytes:?}");
        // RFC 3720, section B.4, and the check value of the catalogue of CRC algorithms.
        check(&[0; 32], 0x8A91_36AA);
        check(&[0xFF; 32], 0x62A8_AB43);
        check(&(0..32).collect::<Vec<u8>>(), 0x46DD_794E);
        check(&(0..32).rev().collect::<Vec<u8>>(), 0x113F_DB5C);
        check(b"123456789", 0xE306_9283);
        check(b"", 0);
    }

    #[test]
    fn checksum_mask_is_reversible() {
        for bytes in [&b"foo"[..], b"", b"123456789"] {
            let crc = crc32c(bytes);
            let turned = masked(bytes).wrapping_sub(0xA282_EAD8);
            assert_eq!(turned.rotate_left(15), crc);
            assert_ne!(masked(bytes), crc);
        }
    }
}
