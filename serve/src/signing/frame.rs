//! Bytes to sign or hash, framed so that different fields have different bytes.

/// The length of what is absent.
const ABSENT: u32 = u32::MAX;

/// Framed fields. Lengths and counts are of four bytes, most significant first.
pub(super) struct Frames(Vec<u8>);

impl Frames {
    /// Begins with the name of the format.
    pub(super) fn new(domain: &str) -> Frames {
        let mut frames = Frames(Vec::with_capacity(512));
        frames.text(Some(domain));
        frames
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Adds a byte that says what follows.
    pub(super) fn tag(&mut self, tag: u8) {
        self.0.push(tag);
    }

    /// Adds a text: its length in bytes and its UTF-8.
    pub(super) fn text(&mut self, text: Option<&str>) {
        self.field(text.map(str::as_bytes));
    }

    /// Adds a number as a field of eight bytes: IEEE 754 binary64, most significant first.
    pub(super) fn number(&mut self, number: Option<f64>) {
        let bits = number.map(|number| number.to_bits().to_be_bytes());
        self.field(bits.as_ref().map(<[u8; 8]>::as_slice));
    }

    /// Adds the number of items that follow.
    pub(super) fn count(&mut self, count: usize) {
        // Bodies and rows are far below 4 GiB, and longer ones would share this length alone.
        self.head(u32::try_from(count).unwrap_or(ABSENT - 1));
    }

    /// Adds a list: the number of its items, then each by `write`.
    pub(super) fn list<T>(&mut self, items: Option<&[T]>, write: impl Fn(&mut Frames, &T)) {
        let Some(items) = items else {
            return self.head(ABSENT);
        };
        self.count(items.len());
        for item in items {
            write(self, item);
        }
    }

    fn field(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else {
            return self.head(ABSENT);
        };
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn head(&mut self, count: u32) {
        self.0.extend_from_slice(&count.to_be_bytes());
    }
}
