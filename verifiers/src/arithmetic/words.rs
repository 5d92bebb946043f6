//! The words that matter beside numbers, and the part each plays.

use super::token::{Op, WordClass};

/// Words by class. A word that is not here is [`WordClass::Plain`].
const CLASSES: [(WordClass, &str); 20] = [
    (WordClass::Article, "a an the each every another"),
    (
        WordClass::Measure,
        "second seconds sec secs minute minutes min mins hour hours hr hrs half-hour half-hours \
         day days week weeks month months year years decade decades century centuries \
         inch inches foot feet ft yard yards yd yds mile miles mi mm cm km meter meters metre \
         metres kilometer kilometers kilometre kilometres centimeter centimeters millimeter \
         millimeters gram grams kg kgs kilogram kilograms mg milligram milligrams ounce ounces oz \
         pound pounds lb lbs ton tons tonne tonnes cup cups pint pints quart quarts gallon \
         gallons gal liter liters litre litres ml milliliter milliliters tablespoon tablespoons \
         tbsp teaspoon teaspoons tsp cent cents dollar dollars penny pennies nickel nickels dime \
         dimes quarters usd euro euros pence mph kph kb mb gb tb bytes bits acre acres quarter",
    ),
    (
        WordClass::Scale,
        "hundred hundreds thousand thousands million millions billion billions trillion squared \
         cubed factorial halves thirds fourths fifths sixths eighths tenths hundredths \
         thousandths mil bn am pm o'clock dozen dozens pair pairs couple score gross",
    ),
    (
        WordClass::Comparison,
        "more less fewer greater larger bigger smaller higher lower older younger longer shorter \
         taller faster slower heavier lighter cheaper",
    ),
    (
        WordClass::Direction,
        "below short loss lost deficit debt behind owed owes overdrawn shortage",
    ),
    (WordClass::Function, "log ln sin cos tan sqrt exp max gcd lcm abs floor ceil ceiling root"),
    (
        WordClass::Caution,
        "wrong incorrect incorrectly false mistake mistaken mistakenly error erroneous \
         contradiction impossible suppose assume assuming hypothetically base bases binary octal \
         hexadecimal hex mod modulo modular",
    ),
    (
        WordClass::Label,
        "total totals altogether overall cost costs price prices profit answer sum difference \
         product result amount value age ages revenue income earnings expenses salary change \
         balance number weight height length width area volume distance speed rate \
         ratio share subtotal",
    ),
    (WordClass::Operation(Op::Add), "plus"),
    (WordClass::Operation(Op::Sub), "minus"),
    (WordClass::Operation(Op::Mul), "times multiplied"),
    (WordClass::Operation(Op::Div), "divided"),
    (WordClass::Of, "of"),
    (WordClass::Per, "per"),
    (WordClass::Preposition, "in for on within during under through across among"),
    (
        WordClass::Approximate,
        "about approximately approx around roughly nearly almost rounded rounding round rounds \
         estimated nearest remainder remainders leftover leftovers whole full complete",
    ),
    (
        WordClass::Modifier,
        "half twice double doubled triple tripled thrice quadruple third fourth fifth \
         sixth eighth tenth by over from to into than between at with average mean percentage \
         one-half one-third one-fourth one-quarter two-thirds three-fourths three-quarters \
         negative subtract subtracted add added multiply divide cube",
    ),
    (
        WordClass::Modifier,
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen \
         fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy \
         eighty ninety",
    ),
    (
        WordClass::Stop,
        "and or so if then thus hence therefore because since but while when where whereas after \
         before until once now also only still not no that which who whom there this these those \
         as she he they it we you his her hers their its my our your",
    ),
    (
        WordClass::Stop,
        "are was were be been being has have had will would can could should must may might do \
         does did make makes made making get gets got getting give gives gave leave leaves \
         leaving means spend spends spent sell sells sold buy buys bought pay pays paid earn \
         earns earned save saves saved use uses used need needs needed take takes took eat eats \
         ate let same equation",
    ),
];

/// Bytes of the longest word in the table, with room.
const LONGEST: usize = 16;

/// The table, arranged for look-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vocabulary {
    /// Sorted by bytes.
    entries: Vec<(&'static str, WordClass)>,
    /// For each first letter, and one past the last, where its words start in `entries`.
    starts: [usize; 27],
}

impl Vocabulary {
    /// Arranges the table.
    pub(super) fn new() -> Self {
        let mut entries: Vec<_> = CLASSES
            .iter()
            .flat_map(|&(class, words)| words.split(' ').map(move |word| (word, class)))
            .collect();
        entries.sort_unstable_by_key(|&(word, _)| word);
        let mut starts = [entries.len(); 27];
        for (letter, start) in (b'a'..=b'z').zip(&mut starts) {
            *start = entries.partition_point(|(word, _)| word.as_bytes()[0] < letter);
        }
        Self { entries, starts }
    }

    /// Returns the part that `word` plays. A word with an apostrophe (`that's`, `Sara's`) ends a
    /// unit phrase.
    pub(super) fn classify(&self, word: &str) -> WordClass {
        let mut lower = [0u8; LONGEST];
        let Some(lower) = lower.get_mut(..word.len()) else {
            return WordClass::Plain;
        };
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        let Some(letter @ b'a'..=b'z') = lower.first() else {
            return WordClass::Plain;
        };
        let bucket = usize::from(letter - b'a');
        let entries = &self.entries[self.starts[bucket]..self.starts[bucket + 1]];
        match entries.binary_search_by(|(entry, _)| entry.as_bytes().cmp(lower)) {
            Ok(index) => entries[index].1,
            Err(_) if word.contains(['\'', '\u{2019}']) => WordClass::Stop,
            Err(_) => WordClass::Plain,
        }
    }
}

/// Returns whether two words may name the same unit: equal but for case and a plural ending.
pub(super) fn same_unit(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let (Some(stem), Some(ending)) = (long.get(..short.len()), long.get(short.len()..)) else {
        return false;
    };
    stem.eq_ignore_ascii_case(short) && matches!(ending, "" | "s" | "es")
}

/// Returns whether `word` names the unit that `$` stands for.
pub(super) fn names_money(word: &str) -> bool {
    ["dollar", "dollars"].iter().any(|name| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_table_is_unique_and_lower_case() {
        let vocabulary = Vocabulary::new();
        assert!(vocabulary.entries.is_sorted_by(|a, b| a.0 < b.0));
        for &(word, class) in &vocabulary.entries {
            assert!(word.len() <= LONGEST, "{word}");
            assert_eq!(word, word.to_lowercase());
            assert_eq!(vocabulary.classify(word), class, "{word}");
        }
    }

    #[test]
    fn words_have_their_classes() {
        let vocabulary = Vocabulary::new();
        for (word, class) in [
            ("Hours", WordClass::Measure),
            ("times", WordClass::Operation(Op::Mul)),
            ("apples", WordClass::Plain),
            ("Sara's", WordClass::Stop),
            ("that\u{2019}s", WordClass::Stop),
            ("incomprehensibilities", WordClass::Plain),
            ("THE", WordClass::Article),
            ("\u{e9}t\u{e9}", WordClass::Plain),
            ("", WordClass::Plain),
        ] {
            assert_eq!(vocabulary.classify(word), class, "{word}");
        }
    }

    #[test]
    fn units_compare_by_their_singular() {
        assert!(same_unit("egg", "Eggs"));
        assert!(same_unit("boxes", "box"));
        assert!(same_unit("case", "cases"));
        assert!(!same_unit("hours", "minutes"));
        assert!(!same_unit("caf\u{e9}", "cafe"));
    }
}
