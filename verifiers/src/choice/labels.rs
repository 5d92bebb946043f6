//! The labels of choices, and sets of them.

/// A letter `A` to `Z` or a digit `1` to `9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChoiceLabel(u8);

/// Alphabet of a question's labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Letters,
    Digits,
}

impl ChoiceLabel {
    /// Returns the label that `c` writes, in either case.
    pub(super) fn of(c: char) -> Option<Self> {
        let byte = u8::try_from(c).ok()?.to_ascii_uppercase();
        matches!(byte, b'A'..=b'Z' | b'1'..=b'9').then_some(Self(byte))
    }

    /// Returns the label of the choice at `index`, counted from 0.
    pub(super) fn at(index: usize, alphabet: Alphabet) -> Option<Self> {
        let index = u8::try_from(index).ok()?;
        let (first, count) = match alphabet {
            Alphabet::Letters => (b'A', 26),
            Alphabet::Digits => (b'1', 9),
        };
        (index < count).then(|| Self(first + index))
    }

    pub(super) fn alphabet(self) -> Alphabet {
        if self.0.is_ascii_digit() { Alphabet::Digits } else { Alphabet::Letters }
    }

    fn bit(self) -> u64 {
        match self.alphabet() {
            Alphabet::Letters => 1 << (self.0 - b'A'),
            Alphabet::Digits => 1 << (26 + self.0 - b'1'),
        }
    }
}

impl std::fmt::Display for ChoiceLabel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", char::from(self.0))
    }
}

/// A set of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LabelSet(u64);

impl LabelSet {
    /// Returns the set with the one `label`.
    pub(super) fn one(label: ChoiceLabel) -> Self {
        Self(label.bit())
    }

    /// Adds `label`; false when it was there.
    pub(super) fn insert(&mut self, label: ChoiceLabel) -> bool {
        let new = self.0 & label.bit() == 0;
        self.0 |= label.bit();
        new
    }

    /// Adds all of `other`.
    pub(super) fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the label, where there is exactly one.
    pub(super) fn only(self) -> Option<ChoiceLabel> {
        self.labels().next().filter(|_| self.len() == 1)
    }

    /// Returns whether a label is in both.
    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the labels, letters first.
    fn labels(self) -> impl Iterator<Item = ChoiceLabel> {
        [Alphabet::Letters, Alphabet::Digits]
            .into_iter()
            .flat_map(|alphabet| (0..26).map_while(move |index| ChoiceLabel::at(index, alphabet)))
            .filter(move |label| self.0 & label.bit() != 0)
    }

    /// Returns the alphabet, where all labels share one.
    pub(super) fn alphabet(self) -> Option<Alphabet> {
        let mut alphabets = self.labels().map(ChoiceLabel::alphabet);
        let first = alphabets.next()?;
        alphabets.all(|other| other == first).then_some(first)
    }
}

impl std::fmt::Display for LabelSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.labels().map(|label| label.to_string()).collect();
        write!(f, "{}", names.join(", "))
    }
}
