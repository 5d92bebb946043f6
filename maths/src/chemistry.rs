//! Chemical formulas, equations and electron configurations: one spelling for the ways to write one.
//!
//! Nothing is computed: two texts are the same where they name the same species, with the same
//! numbers, in any order between plus signs. A text is chemical only where every letter of it belongs
//! to the symbol of an element, a shell or a hybrid orbital.

/// The longest text that is read, in bytes.
const MAX_BYTES: usize = 200;

/// The symbols of the elements.
const ELEMENTS: &str = " H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu \
    Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm \
    Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu ";

/// Commands and signs that set type or point from one side of an equation to the other.
const SPELLINGS: [(&str, &str); 25] = [
    ("\\rightleftharpoons", ">"),
    ("\\longrightarrow", ">"),
    ("\\rightarrow", ">"),
    ("\\to", ">"),
    ("\\text{", ""),
    ("\\mathrm{", ""),
    ("\\ce{", ""),
    ("\\,", " "),
    ("\\;", " "),
    ("\\ ", " "),
    ("<=>", ">"),
    ("->", ">"),
    ("=>", ">"),
    ("\\cdot", "·"),
    ("→", ">"),
    ("⟶", ">"),
    ("⇌", ">"),
    ("=", ">"),
    ("−", "-"),
    ("_", ""),
    ("{", ""),
    ("}", ""),
    ("$", ""),
    ("~", " "),
    ("*", ""),
];

/// Raised and lowered digits, each from 0 to 9.
const DIGITS: [(&str, &str); 2] = [("⁰¹²³⁴⁵⁶⁷⁸⁹", "^"), ("₀₁₂₃₄₅₆₇₈₉", "")];

/// Returns whether both texts are chemical and name the same.
pub(crate) fn are_same(gold: &str, candidate: &str) -> bool {
    let own = formula(gold);
    own.is_some() && own == formula(candidate)
}

/// Returns whether `text` is a chemical equation with an arrow: `2H_2 + O_2 \to 2H_2O`.
pub(crate) fn is_reaction(text: &str) -> bool {
    let has_arrow = ["→", "⟶", "⇌", "->", "arrow", "harpoons", "\\to "];
    text.contains('+')
        && has_arrow.into_iter().any(|arrow| text.contains(arrow))
        && formula(text).is_some()
}

/// Returns whether `text` is a chemical formula or equation.
pub fn is_chemical(text: &str) -> bool {
    formula(text).is_some()
}

/// Returns the one spelling of a chemical text; `None` if `text` is none.
pub(crate) fn formula(text: &str) -> Option<String> {
    let may_be = |c: char| c.is_ascii_uppercase() || c == 'p' || c == 's';
    if text.len() > MAX_BYTES || !text.contains(may_be) {
        return None;
    }
    let flat = flat(text.trim())?;
    configuration(&flat).or_else(|| equation(&flat))
}

/// Returns `text` without typesetting, raised parts after `^`.
fn flat(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((written, plain)) = SPELLINGS.iter().find(|(w, _)| rest.starts_with(w)) {
            out.push_str(plain);
            rest = &rest[written.len()..];
            continue;
        }
        let raised = DIGITS.iter().find_map(|(digits, mark)| {
            digits.chars().position(|digit| digit == c).map(|value| (*mark, value))
        });
        match raised {
            Some((mark, value)) => {
                // One mark for all raised digits of a number.
                let goes_on = mark == "^" && ends_raised(&out);
                out.push_str(if goes_on { "" } else { mark });
                out.push(char::from_digit(u32::try_from(value).ok()?, 10)?);
            }
            None if c == '⁺' || c == '⁻' => {
                out.push_str(if ends_raised(&out) { "" } else { "^" });
                out.push(if c == '⁺' { '+' } else { '-' });
            }
            None if c == '\\' => return None,
            None => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(out.trim().to_owned())
}

fn ends_raised(text: &str) -> bool {
    text.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('^')
        && text.ends_with(|c: char| c.is_ascii_digit())
}

/// Noble gases, each with the shells that it has beside those of the one before it.
const CORES: [(&str, &[&str]); 6] = [
    ("He", &["1s2"]),
    ("Ne", &["2s2", "2p6"]),
    ("Ar", &["3s2", "3p6"]),
    ("Kr", &["3d10", "4s2", "4p6"]),
    ("Xe", &["4d10", "5s2", "5p6"]),
    ("Rn", &["4f14", "5d10", "6s2", "6p6"]),
];

/// Returns whether `text` is an electron configuration: shells from the first on, or behind a core.
pub fn is_configuration(text: &str) -> bool {
    let may_be = text.len() <= MAX_BYTES && (text.contains("1s") || text.contains('['));
    let flat = || flat(text.trim()).filter(|flat| flat.starts_with("1s") || flat.starts_with('['));
    may_be && flat().is_some_and(|flat| configuration(&flat).is_some())
}

/// Reads `[Ar] 3d^{10} 4s^1` and `sp^3`: shells in any order, those of the core among them.
fn configuration(text: &str) -> Option<String> {
    let (core, mut rest) = match text.strip_prefix('[') {
        Some(inner) => {
            let (core, rest) = inner.split_once(']')?;
            is_element(core).then_some(())?;
            (core, rest)
        }
        None => ("", text),
    };
    if core.is_empty() && rest.starts_with("sp") {
        let count = rest[2..].trim_start_matches('^');
        let is_hybrid = matches!(count, "" | "2" | "3" | "3d" | "3d2" | "3d^2");
        return is_hybrid.then(|| format!("sp{}", count.replace('^', "")));
    }
    let mut shells = Vec::new();
    loop {
        rest = rest.trim_start();
        let mut letters = rest.chars();
        let (Some(level), Some(shell)) = (letters.next(), letters.next()) else {
            break;
        };
        let room = match shell {
            's' => 2,
            'p' => 6,
            'd' => 10,
            'f' => 14,
            _ => return None,
        };
        let after = letters.as_str();
        let count = after.strip_prefix('^').unwrap_or(after);
        // Without spaces the next level touches the number: `1s22s2`.
        let length = [2, 1].into_iter().find(|length| {
            let digits = count.get(..*length);
            digits.is_some_and(|d| d.parse::<u8>().is_ok_and(|n| (1..=room).contains(&n)))
        })?;
        level.is_ascii_digit().then_some(())?;
        shells.push(format!("{level}{shell}{}", &count[..length]));
        rest = &count[length..];
    }
    if shells.is_empty() || !rest.is_empty() {
        return None;
    }
    let known = CORES.iter().position(|(name, _)| *name == core);
    let inner = known.map_or(&[][..], |last| &CORES[..=last]);
    shells.extend(inner.iter().flat_map(|(_, shells)| shells.iter().map(|s| (*s).to_owned())));
    shells.sort();
    let core = if known.is_some() { "" } else { core };
    Some(format!("{core}|{}", shells.join(" ")))
}

/// Reads species, or two sides of them.
fn equation(text: &str) -> Option<String> {
    let sides: Vec<String> = text.split('>').map(side).collect::<Option<_>>()?;
    // One letter alone is a variable.
    let symbols = text.chars().filter(char::is_ascii_uppercase).count();
    let is_marked = text.contains(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    let is_chemical = symbols > 1 || symbols == 1 && is_marked;
    (is_chemical && sides.len() <= 2).then(|| sides.join(">"))
}

fn side(text: &str) -> Option<String> {
    let mut species = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('+') {
        let after = text[at + 1..].trim_start();
        let is_apart = text[..at].ends_with(' ');
        let opens =
            after.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '(');
        if opens && (is_apart || !text[..at].ends_with(['^', '+'])) {
            species.push(one_species(&text[start..at])?);
            start = at + 1;
        }
    }
    species.push(one_species(&text[start..])?);
    species.sort();
    Some(species.join("+"))
}

/// Reads a number, elements with numbers and brackets, and a charge; a state in brackets is left out.
fn one_species(text: &str) -> Option<String> {
    let text = text.trim();
    let state =
        ["(s)", "(l)", "(g)", "(aq)"].into_iter().find_map(|state| text.strip_suffix(state));
    let text = state.unwrap_or(text).trim();
    let uncharged = text.trim_end_matches(['+', '-']);
    let sign = &text[uncharged.len()..];
    let (body, charge) = match uncharged.rsplit_once('^') {
        Some((body, digits)) if digits.bytes().all(|b| b.is_ascii_digit()) && !sign.is_empty() => {
            (body, format!("{digits}{sign}"))
        }
        Some(_) => return None,
        None => (uncharged, sign.to_owned()),
    };
    let number = body.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = body[number..].trim_start();
    rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '(' || c == '[').then_some(())?;
    let mut depth = 0;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            'A'..='Z' => {
                let pair = rest.get(..2).filter(|pair| is_element(pair));
                pair.or_else(|| rest.get(..1).filter(|one| is_element(one)))?.len()
            }
            '0'..='9' | '·' => c.len_utf8(),
            '(' | '[' => {
                depth += 1;
                1
            }
            ')' | ']' if depth > 0 => {
                depth -= 1;
                1
            }
            _ => return None,
        };
        rest = &rest[length..];
    }
    (depth == 0 && sign.len() <= 1).then(|| format!("{body}{charge}").replace(' ', ""))
}

fn is_element(text: &str) -> bool {
    !text.is_empty() && !text.contains(' ') && ELEMENTS.contains(&format!(" {text} "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_substance_has_one_spelling() {
        for (left, right) in [
            ("H2O", "\\mathrm{H_2O}"),
            ("CO2", "CO₂"),
            ("\\text{Fe}_2\\text{O}_3", "Fe2O3"),
            ("Na^+", "\\text{Na}^+"),
            ("SO_4^{2-}", "SO₄²⁻"),
            ("SO_4^{2-}", "\\mathrm{SO_4^{2-}}"),
            ("2H2 + O2 -> 2H2O", "O_2 + 2H_2 \\rightarrow 2H_2O"),
            ("2H2+O2->2H2O", "2H₂ + O₂ → 2H₂O"),
            ("Ca(OH)2", "\\text{Ca(OH)}_2"),
            ("1s^2 2s^2 2p^6", "1s²2s²2p⁶"),
            ("1s^2\\,2s^2\\,2p^6", "1s22s22p6"),
            ("[Ar] 3d^{10} 4s^1", "[\\text{Ar}]\\,4s^1 3d^{10}"),
            ("[\\text{Ar}]\\,3d^6\\,4s^2", "1s² 2s² 2p⁶ 3s² 3p⁶ 4s² 3d⁶"),
            ("[Ar]4s^2", "[Ne] 3s^2 3p^6 4s^2"),
            ("sp^3", "sp³"),
            ("NaCl(aq)", "NaCl"),
        ] {
            assert!(
                are_same(left, right),
                "{left} {right}: {:?} {:?}",
                formula(left),
                formula(right)
            );
        }
    }

    #[test]
    fn other_substances_and_other_texts_differ() {
        for (left, right) in [
            ("CO2", "CO"),
            ("CO2", "CO3"),
            ("SO_4^{2-}", "SO_3^{2-}"),
            ("Na^+", "Na^-"),
            ("Na^+", "Na"),
            ("Fe^{2+}", "Fe^{3+}"),
            ("2H2 + O2 -> 2H2O", "H2 + O2 -> H2O"),
            ("1s^2 2s^2 2p^6", "1s^2 2s^2 2p^5"),
            ("[Ar] 4s^2", "[Kr] 4s^2"),
            ("[Ar] 4s^2", "1s^2 2s^2 2p^6 3s^2 3p^6 4s^1"),
            ("sp^3", "sp^2"),
            ("X2", "X_2"),
            ("C", "C"),
            ("x^2", "x^2"),
            ("12", "12"),
            ("C^2", "C2"),
            ("", ""),
            ("P(B) = 3", "P(B) = 3"),
        ] {
            assert!(!are_same(left, right), "{left} {right}");
        }
    }
}
