//! Questions for members of a family: solutions over free constants, vectors of any length.

use maths::{Answer, Comparer, Policy, Workspace};

use super::Math;
use super::question::{Question, letters};

/// Words that ask for all solutions of a differential equation.
const FAMILIES: [&str; 15] = [
    "differential equation",
    "general solution",
    "all functions",
    "differentialgleichung",
    "allgemeine lösung",
    "équation différentielle",
    "solution générale",
    "ecuación diferencial",
    "equação diferencial",
    "equazione differenziale",
    "дифференциальн",
    "общее решение",
    "微分方程",
    "通解",
    "一般解",
];

/// Words that ask for a vector whose length is free.
const DIRECTIONS: [&str; 18] = [
    "an eigenvector",
    "eigenvector for",
    "eigenvector of",
    "eigenvector corresponding",
    "eigenvector associated",
    "direction vector",
    "a normal vector",
    "eigenvektor zu",
    "einen eigenvektor",
    "un vecteur propre",
    "un vector propio",
    "un autovector",
    "um autovetor",
    "un autovettore",
    "собственный вектор",
    "特征向量",
    "方向向量",
    "法向量",
];

/// Words that say which of these vectors is meant.
const FIXED: [&str; 17] = [
    "unit",
    "normaliz",
    "normalis",
    "norm 1",
    "length 1",
    "magnitude",
    "component",
    "entry",
    "entries",
    "coordinate",
    "whose",
    "smallest",
    "form",
    "normiert",
    "einheit",
    "единичн",
    "单位",
];

impl Question<'_> {
    /// Whether the free constants that both sides have may be other ones: the question has none of them, and asks
    /// for a family.
    pub(super) fn frees_constants(&self, gold: &str, candidate: &str) -> bool {
        /// Letters that are usual for free constants.
        const CONSTANTS: &str = "A B C D K c k";
        let (own, other) = (letters(gold, 2), letters(candidate, 2));
        let free = own & other & letters(CONSTANTS, 1);
        own == other && free != 0 && free & self.letters() == 0 && self.asks_curves()
    }

    /// Returns the only value among `readings` whose name is a word that the question has: `\operatorname{rank}(A) =
    /// 2` after "Find the rank".
    pub(super) fn named_reading<'t>(&self, readings: &[Vec<&'t str>]) -> Option<&'t str> {
        const COMMANDS: [&str; 12] = [
            "frac",
            "dfrac",
            "left",
            "right",
            "text",
            "operatorname",
            "mathrm",
            "mathbf",
            "sqrt",
            "sum",
            "int",
            "lim",
        ];
        let is_named = |text: &str| {
            let Some((name, _)) = text.split_once('=') else {
                return false;
            };
            let words = name.split(|c: char| !c.is_ascii_alphabetic());
            let mut words = words.filter(|word| word.len() > 3 && !COMMANDS.contains(word));
            words.any(|word| self.has_word(&word.to_ascii_lowercase()))
        };
        let mut named = readings.iter().filter_map(|reading| match reading.as_slice() {
            [only] if is_named(only) => Some(*only),
            _ => None,
        });
        let only = named.next()?;
        named.next().is_none().then_some(only)
    }

    fn has_word(&self, word: &str) -> bool {
        self.lower().split(|c: char| !c.is_alphabetic()).any(|own| own == word)
    }

    /// Whether both texts are digits of a base that the question asks for, letters among them, and not the same ones:
    /// `5B` is no product.
    pub(super) fn wants_other_numeral(&self, gold: &str, candidate: &str) -> bool {
        let digits = |text: &'_ str| -> Option<String> {
            let text = text.trim_matches(['$', '*', ' ']);
            let has = |is_such: fn(&u8) -> bool| text.as_bytes().iter().any(is_such);
            let is_numeral = has(u8::is_ascii_digit)
                && has(u8::is_ascii_alphabetic)
                && text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_hexdigit());
            is_numeral.then(|| text.trim_start_matches('0').to_ascii_uppercase())
        };
        let (Some(own), Some(other)) = (digits(gold), digits(candidate)) else {
            return false;
        };
        let bases = ["hexadecimal", " hex", "base ", "basis ", "base-", "шестнадцат", "十六进制"];
        own != other && bases.iter().any(|base| self.lower().contains(base))
    }

    /// Whether the solutions of a differential equation are wanted; a constant of integers has its own values.
    fn asks_curves(&self) -> bool {
        let asks = FAMILIES.iter().any(|words| self.lower().contains(words));
        asks && !self.lower().contains("integer")
    }

    /// Whether a vector is wanted whose length is free: an eigenvector, a direction, a normal.
    pub(super) fn wants_direction(&self) -> bool {
        DIRECTIONS.iter().any(|words| self.lower().contains(words))
            && !FIXED.iter().any(|words| self.lower().contains(words))
    }

    /// Whether all members of a family are wanted, whose parameters may have any names.
    pub(super) fn wants_family(&self) -> bool {
        const OTHERS: [&str; 14] = [
            "minimal polynomial",
            "characteristic polynomial",
            "all polynomials",
            "all solutions",
            "all real solutions",
            "all integer solutions",
            "all integers",
            "all matrices",
            "all vectors",
            "parametric",
            "solution set",
            "solución general",
            "solução geral",
            "soluzione generale",
        ];
        FAMILIES.iter().chain(&OTHERS).any(|words| self.lower().contains(words))
    }

    /// Whether any basis of a space is wanted, of a kernel or of a plane.
    pub(super) fn wants_basis(&self) -> bool {
        const ASKING: [&str; 9] = [
            "a basis of",
            "a basis for",
            "basis of",
            "basis for",
            "eine basis",
            "une base",
            "una base",
            "uma base",
            "базис",
        ];
        const SPECIAL: [&str; 10] = [
            "orthonormal",
            "orthogonal",
            "eigen",
            "coordinate",
            "relative to",
            "with respect to",
            "change",
            "unit",
            "dual",
            "ортонорм",
        ];
        ASKING.iter().any(|words| self.lower().contains(words))
            && !SPECIAL.iter().any(|words| self.lower().contains(words))
    }
}

impl Math {
    /// Decides whether two texts give independent vectors of rational numbers that span one space.
    pub(super) fn are_bases(
        &self,
        gold: &str,
        candidate: &str,
        policy: Policy,
        ws: &mut Workspace<'_>,
    ) -> bool {
        let tolerance = &self.config.tolerance;
        Comparer { ws, policy, tolerance }.are_bases(gold, candidate).unwrap_or(false)
    }

    /// Decides whether two vectors of numbers have one direction, or opposite ones.
    pub(super) fn are_multiples(
        &self,
        gold: &Answer,
        candidate: &Answer,
        policy: Policy,
        ws: &mut Workspace<'_>,
    ) -> bool {
        let tolerance = &self.config.tolerance;
        Comparer { ws, policy, tolerance }.are_multiples(gold, candidate).unwrap_or(false)
    }
}
