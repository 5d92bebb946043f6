//! Elements and nuclides: `Fe` and "iron", `^{234}_{90}\mathrm{Th}` and "thorium-234".

/// The elements by atomic number, symbol before name.
const ELEMENTS: &str = "H hydrogen He helium Li lithium Be beryllium B boron C carbon N nitrogen O oxygen F fluorine \
    Ne neon Na sodium Mg magnesium Al aluminium Si silicon P phosphorus S sulfur Cl chlorine Ar argon K potassium \
    Ca calcium Sc scandium Ti titanium V vanadium Cr chromium Mn manganese Fe iron Co cobalt Ni nickel Cu copper \
    Zn zinc Ga gallium Ge germanium As arsenic Se selenium Br bromine Kr krypton Rb rubidium Sr strontium Y yttrium \
    Zr zirconium Nb niobium Mo molybdenum Tc technetium Ru ruthenium Rh rhodium Pd palladium Ag silver Cd cadmium \
    In indium Sn tin Sb antimony Te tellurium I iodine Xe xenon Cs caesium Ba barium La lanthanum Ce cerium \
    Pr praseodymium Nd neodymium Pm promethium Sm samarium Eu europium Gd gadolinium Tb terbium Dy dysprosium \
    Ho holmium Er erbium Tm thulium Yb ytterbium Lu lutetium Hf hafnium Ta tantalum W tungsten Re rhenium Os osmium \
    Ir iridium Pt platinum Au gold Hg mercury Tl thallium Pb lead Bi bismuth Po polonium At astatine Rn radon \
    Fr francium Ra radium Ac actinium Th thorium Pa protactinium U uranium Np neptunium Pu plutonium Am americium \
    Cm curium Bk berkelium Cf californium Es einsteinium Fm fermium";

/// Names in another spelling.
const SPELLINGS: [(&str, &str); 4] = [
    ("aluminum", "aluminium"),
    ("cesium", "caesium"),
    ("sulphur", "sulfur"),
    ("wolfram", "tungsten"),
];

/// The longest text that is read, in bytes.
const MAX_BYTES: usize = 60;

/// An element, perhaps of one mass number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nuclide {
    /// Atomic number.
    number: usize,
    mass: Option<u16>,
    /// Whether it is named and not by its symbol.
    is_named: bool,
}

/// Returns whether both texts name one element, one of them by its name, or one nuclide.
pub(crate) fn are_same(gold: &str, candidate: &str) -> bool {
    if gold.len() > MAX_BYTES || candidate.len() > MAX_BYTES {
        return false;
    }
    let (Some(own), Some(other)) = (nuclide(gold), nuclide(candidate)) else {
        return false;
    };
    own.number == other.number
        && own.mass == other.mass
        && (own.is_named || other.is_named || own.mass.is_some())
}

/// Returns whether `text` is a nuclide with its mass: `^{234}_{90}\mathrm{Th}`.
pub(crate) fn is_nuclide(text: &str) -> bool {
    text.len() <= MAX_BYTES && nuclide(text).is_some_and(|nuclide| nuclide.mass.is_some())
}

/// Reads `Fe`, "iron", `Th-234`, "thorium-234", `^{234}_{90}\mathrm{Th}`, `²³⁴Th`; all of `text` or nothing.
fn nuclide(text: &str) -> Option<Nuclide> {
    // Numbers, which most answers are, name none.
    if !text.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let text = plain(text)?;
    let text = text.trim();
    if let Some((name, mass)) = text.rsplit_once('-') {
        let (number, is_named) = element(name.trim())?;
        return Some(Nuclide { number, mass: Some(mass.trim().parse().ok()?), is_named });
    }
    let mut rest = text;
    let (mut mass, mut charge) = (None, None);
    while let Some(script) = rest.strip_prefix(['^', '_']) {
        let digits = script.bytes().take_while(u8::is_ascii_digit).count();
        let value: u16 = script[..digits].parse().ok()?;
        let place = if rest.starts_with('^') { &mut mass } else { &mut charge };
        if place.replace(value).is_some() {
            return None;
        }
        rest = script[digits..].trim_start();
    }
    let (number, is_named) = element(rest)?;
    let is_of_element = charge.is_none_or(|charge| usize::from(charge) == number);
    is_of_element.then_some(Nuclide { number, mass, is_named })
}

/// Returns the atomic number of an element, and whether `text` is its name.
fn element(text: &str) -> Option<(usize, bool)> {
    /// Letters of the longest name, "praseodymium".
    const MAX_LETTERS: usize = 12;
    if text.len() > MAX_LETTERS || !text.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    let spelling = SPELLINGS.iter().find(|(written, _)| written.eq_ignore_ascii_case(text));
    let name = spelling.map_or(text, |(_, name)| name);
    let at = ELEMENTS.split_ascii_whitespace().enumerate().position(|(at, word)| {
        if at % 2 == 0 { word == text } else { word.eq_ignore_ascii_case(name) }
    })?;
    Some((at / 2 + 1, at % 2 == 1))
}

/// Returns `text` without typesetting, raised digits after `^` and lowered ones after `_`.
fn plain(text: &str) -> Option<String> {
    const SPACES: [&str; 12] =
        ["\\mathrm", "\\text", "\\ce", "\\rm", "\\,", "\\!", "\\;", "\\ ", "{", "}", "$", "*"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = SPACES.iter().find_map(|space| rest.strip_prefix(space)) {
            rest = after;
            continue;
        }
        let raised = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|digit| digit == c).map(|value| ('^', value));
        let lowered =
            || "₀₁₂₃₄₅₆₇₈₉".chars().position(|digit| digit == c).map(|value| ('_', value));
        match raised.or_else(lowered) {
            Some((mark, value)) => {
                let before = out.trim_end_matches(|c: char| c.is_ascii_digit());
                if !(before.ends_with(mark) && before.len() < out.len()) {
                    out.push(mark);
                }
                out.push(char::from_digit(u32::try_from(value).ok()?, 10)?);
            }
            None if c == '\\' => return None,
            None => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_symbols_of_one_nuclide_are_the_same() {
        for (left, right) in [
            ("Iron", "Fe"),
            ("Fe", "iron"),
            (r"\mathrm{Mg}", "magnesium"),
            ("aluminum", "Al"),
            (r"^{234}_{90}\mathrm{Th}", "thorium-234"),
            (r"{}^{234}_{90}\text{Th}", "Th-234"),
            ("²³⁴₉₀Th", "^{234}Th"),
            ("²³⁴Th", "Thorium-234"),
        ] {
            assert!(are_same(left, right), "{left} {right}");
            assert!(are_same(right, left), "{right} {left}");
        }
        for (left, right) in [
            ("Iron", "F"),
            ("Fe", "Fe"),
            ("fe", "iron"),
            (r"^{234}_{90}\mathrm{Th}", "thorium-230"),
            (r"^{234}_{92}\mathrm{Th}", "thorium-234"),
            ("Thorium", "thorium-234"),
            ("x^2", "2"),
            ("", ""),
            ("-", "-"),
        ] {
            assert!(!are_same(left, right), "{left} {right}");
        }
    }
}
