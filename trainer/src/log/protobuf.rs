//! The few messages of protocol buffers that `TensorBoard`'s event files have.
//!
//! | message | fields |
//! |---|---|
//! | `Event` | 1 `wall_time` double, 2 `step` int64, 3 `file_version` string, 5 `summary`, 7 `session_log` |
//! | `Summary` | 1 `value`, repeated |
//! | `Value` | 1 `tag` string, 2 `simple_value` float |
//! | `SessionLog` | 1 `status`, where 1 is START |

/// Wire types of a key.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const LENGTH: u64 = 2;
const FOUR_BYTES: u64 = 5;

/// The content of one event.
pub(super) enum What<'a> {
    /// The first event of a file.
    FileVersion(&'a str),
    /// Voids this step and later ones in other files.
    SessionStart,
    /// Numbers by name.
    Scalars(&'a [(&'a str, f64)]),
}

/// The bytes of an event.
pub(super) fn event(time: f64, step: u64, what: &What<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    // Readers take a missing field for zero, and writers omit zeros.
    if time.to_bits() != 0 {
        key(&mut out, 1, EIGHT_BYTES);
        out.extend(time.to_le_bytes());
    }
    if step > 0 {
        key(&mut out, 2, VARINT);
        varint(&mut out, step);
    }
    match what {
        What::FileVersion(version) => message(&mut out, 3, version.as_bytes()),
        What::SessionStart => message(&mut out, 7, &[8, 1]),
        What::Scalars(scalars) => {
            let mut summary = Vec::new();
            for (tag, value) in *scalars {
                message(&mut summary, 1, &scalar(tag, *value));
            }
            message(&mut out, 5, &summary);
        }
    }
    out
}

fn scalar(tag: &str, value: f64) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, 1, tag.as_bytes());
    key(&mut out, 2, FOUR_BYTES);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "TensorBoard's simple values are single precision"
    )]
    let value = value as f32;
    out.extend(value.to_le_bytes());
    out
}

/// A field of bytes: a string or a message.
fn message(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    key(out, field, LENGTH);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn key(out: &mut Vec<u8>, field: u64, wire_type: u64) {
    varint(out, field << 3 | wire_type);
}

/// Seven bits per byte, the least significant first; the eighth bit says that more follow.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7F);
            return;
        }
        out.push(low | 0x80);
    }
}
