//! Arguments of instructions: each is there and of its type, or the reference is bad.

use serde_json::{Map, Value};
use whatlang::Lang;

/// Comparison of a count with a number. The published data has these two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountRelation {
    LessThan,
    AtLeast,
}

/// A count that is demanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    relation: CountRelation,
    number: u64,
}

impl Count {
    pub(super) fn at_least(number: u64) -> Self {
        Self { relation: CountRelation::AtLeast, number }
    }

    pub(super) fn holds(self, count: usize) -> bool {
        match self.relation {
            CountRelation::LessThan => (count as u64) < self.number,
            CountRelation::AtLeast => count as u64 >= self.number,
        }
    }
}

/// The arguments of one instruction.
pub(super) struct Arguments<'a> {
    pub(super) own: &'a Map<String, Value>,
    /// The prompt of the row.
    pub(super) prompt: Option<&'a Value>,
}

impl Arguments<'_> {
    pub(super) fn text(&self, key: &str) -> Result<&str, String> {
        let text = self.own.get(key).and_then(Value::as_str);
        text.filter(|text| !text.trim().is_empty()).ok_or_else(|| format!("'{key}' is no text"))
    }

    pub(super) fn lower_texts(&self, key: &str) -> Result<Vec<String>, String> {
        let items = self.own.get(key).and_then(Value::as_array).filter(|items| !items.is_empty());
        let texts: Option<Vec<String>> = items.and_then(|items| {
            let texts = items.iter().map(|item| item.as_str().map(str::to_lowercase));
            texts.map(|text| text.filter(|text| !text.trim().is_empty())).collect()
        });
        texts.ok_or_else(|| format!("'{key}' is no list of texts"))
    }

    /// A whole number; published rows have floats such as 3.0 too.
    pub(super) fn number(&self, key: &str) -> Result<u64, String> {
        let value = self.own.get(key);
        let float =
            value.and_then(Value::as_f64).filter(|x| x.fract() == 0.0 && (0.0..1e9).contains(x));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, not negative and below 1e9"
        )]
        float.map(|number| number as u64).ok_or_else(|| format!("'{key}' is no count"))
    }

    pub(super) fn count(&self, number: &str, relation: &str) -> Result<Count, String> {
        let word = self.own.get(relation).and_then(Value::as_str);
        let relation = match word {
            Some("less than") => CountRelation::LessThan,
            Some("at least") => CountRelation::AtLeast,
            _ => return Err(format!("'{relation}' is neither 'less than' nor 'at least'")),
        };
        Ok(Count { relation, number: self.number(number)? })
    }

    /// A whole number from 1.
    pub(super) fn position(&self, key: &str) -> Result<usize, String> {
        let number = usize::try_from(self.number(key)?).ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("'{key}' counts from 1"))
    }

    pub(super) fn letter(&self, key: &str) -> Result<char, String> {
        let lower = self.text(key)?.trim().to_lowercase();
        let mut letters = lower.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => Ok(letter),
            _ => Err(format!("'{key}' is no single letter")),
        }
    }

    pub(super) fn language(&self, key: &str) -> Result<Lang, String> {
        let code = self.text(key)?;
        let known = LANGUAGES.iter().find(|(known, _)| *known == code);
        known.map(|(_, language)| *language).ok_or_else(|| format!("no language '{code}'"))
    }

    /// The prompt to repeat: the instruction's own, else that of the row.
    pub(super) fn repeated(&self) -> Result<String, String> {
        let own = self.text("prompt_to_repeat").ok().or(self.prompt.and_then(Value::as_str));
        let text = own.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
        text.ok_or_else(|| "'prompt_to_repeat' is no text".to_owned())
    }
}

/// The languages of the published instructions that the detector knows.
const LANGUAGES: &[(&str, Lang)] = &[
    ("ar", Lang::Ara),
    ("bg", Lang::Bul),
    ("bn", Lang::Ben),
    ("de", Lang::Deu),
    ("en", Lang::Eng),
    ("es", Lang::Spa),
    ("fa", Lang::Pes),
    ("fi", Lang::Fin),
    ("fr", Lang::Fra),
    ("gu", Lang::Guj),
    ("he", Lang::Heb),
    ("hi", Lang::Hin),
    ("it", Lang::Ita),
    ("ja", Lang::Jpn),
    ("kn", Lang::Kan),
    ("ko", Lang::Kor),
    ("ml", Lang::Mal),
    ("mr", Lang::Mar),
    ("ne", Lang::Nep),
    ("pa", Lang::Pan),
    ("pl", Lang::Pol),
    ("pt", Lang::Por),
    ("ru", Lang::Rus),
    ("ta", Lang::Tam),
    ("te", Lang::Tel),
    ("th", Lang::Tha),
    ("uk", Lang::Ukr),
    ("ur", Lang::Urd),
    ("vi", Lang::Vie),
];
