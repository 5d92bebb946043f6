//! The LP format: objective, constraints, bounds, integers.

use dashu::rational::RBig;

use super::model::{Bounds, Malformed, Model, OpenTerms, Row, Terms, number};

#[derive(Debug, Clone, PartialEq)]
enum LpToken {
    Number(RBig),
    Name(String),
    /// `<=`, `>=` or `=`.
    Compare(char),
    Sign(bool),
    Colon,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Objective { maximise: bool },
    Constraints,
    Bounds,
    Integers,
    Binaries,
    End,
}

/// A sum with a constant.
#[derive(Default)]
struct LinearSum {
    terms: OpenTerms,
    constant: RBig,
}

struct Reader<'t> {
    model: Model,
    tokens: &'t [(LpToken, usize)],
    at: usize,
}

pub(super) fn read(text: &str) -> Result<Model, Malformed> {
    let mut parts: Vec<(Section, Vec<(LpToken, usize)>)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.split('\\').next().unwrap_or_default();
        let (section, rest) = header(line);
        if let Some(section) = section {
            parts.push((section, Vec::new()));
        }
        let tokens = tokens(rest).map_err(|message| Malformed::new(number, message))?;
        match parts.last_mut() {
            Some((_, list)) => list.extend(tokens.into_iter().map(|token| (token, number))),
            None if tokens.is_empty() => {}
            None => return Err(Malformed::new(number, "neither 'Minimize' nor 'Maximize'")),
        }
    }
    let mut model = Model::default();
    if !matches!(parts.first(), Some((Section::Objective { .. }, _))) {
        return Err(Malformed::new(1, "there is no objective"));
    }
    for (section, tokens) in &parts {
        let mut reader = Reader { model, tokens, at: 0 };
        reader.section(*section)?;
        model = reader.model;
    }
    Ok(model)
}

/// The section that a line begins, and the rest of the line.
fn header(line: &str) -> (Option<Section>, &str) {
    const WORDS: &[(&str, Section)] = &[
        ("maximize", Section::Objective { maximise: true }),
        ("maximise", Section::Objective { maximise: true }),
        ("maximum", Section::Objective { maximise: true }),
        ("max", Section::Objective { maximise: true }),
        ("minimize", Section::Objective { maximise: false }),
        ("minimise", Section::Objective { maximise: false }),
        ("minimum", Section::Objective { maximise: false }),
        ("min", Section::Objective { maximise: false }),
        ("subject to", Section::Constraints),
        ("such that", Section::Constraints),
        ("s.t.", Section::Constraints),
        ("st.", Section::Constraints),
        ("st", Section::Constraints),
        ("bounds", Section::Bounds),
        ("bound", Section::Bounds),
        ("generals", Section::Integers),
        ("general", Section::Integers),
        ("gen", Section::Integers),
        ("integers", Section::Integers),
        ("integer", Section::Integers),
        ("int", Section::Integers),
        ("binaries", Section::Binaries),
        ("binary", Section::Binaries),
        ("bin", Section::Binaries),
        ("end", Section::End),
    ];
    let trimmed = line.trim_start();
    for (word, section) in WORDS {
        let Some(start) = trimmed.get(..word.len()) else { continue };
        let rest = &trimmed[word.len()..];
        let ends = rest.is_empty() || rest.starts_with([' ', '\t', ':', '\r']);
        // `st: x >= 1` names a constraint.
        let names = rest.starts_with(':') && !matches!(section, Section::Objective { .. });
        if start.eq_ignore_ascii_case(word) && ends && !names {
            return (Some(*section), rest.trim_start_matches([':', ' ', '\t']));
        }
    }
    (None, line)
}

fn tokens(line: &str) -> Result<Vec<LpToken>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '<' | '>' | '=' => {
                let length = rest.len() - rest.trim_start_matches(['<', '>', '=']).len();
                let word = &rest[..length];
                tokens.push(LpToken::Compare(match word {
                    "<" | "<=" | "=<" => '<',
                    ">" | ">=" | "=>" => '>',
                    "=" | "==" => '=',
                    _ => return Err(format!("'{word}' is no comparison")),
                }));
                length
            }
            '+' | '-' => {
                tokens.push(LpToken::Sign(first == '-'));
                1
            }
            ':' => {
                tokens.push(LpToken::Colon);
                1
            }
            // A product of a number and a variable.
            '*' => 1,
            '0'..='9' | '.' => {
                let length = numeral(rest);
                let word = &rest[..length];
                tokens.push(LpToken::Number(
                    number(word).ok_or_else(|| format!("'{word}' is no number"))?,
                ));
                length
            }
            '[' | ']' | '^' | '/' => return Err(format!("'{first}': only linear terms are read")),
            c if is_name(c) => {
                let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                tokens.push(LpToken::Name(rest[..length].to_owned()));
                length
            }
            other => return Err(format!("'{other}' has no meaning here")),
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "!\"#$%&(),.;?@_'`{}~".contains(c)
}

/// Bytes of the number that `text` starts with.
fn numeral(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        from + bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count()
    };
    let end = digits(0);
    if !bytes.get(end).is_some_and(|byte| matches!(byte, b'e' | b'E')) {
        return end;
    }
    let sign = usize::from(bytes.get(end + 1).is_some_and(|byte| matches!(byte, b'+' | b'-')));
    if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
        digits(end + 1 + sign)
    } else {
        end
    }
}

impl Reader<'_> {
    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |(_, line)| *line)
    }

    fn malformed<T>(&self, message: impl Into<String>) -> Result<T, Malformed> {
        Err(Malformed::new(self.line(), message))
    }

    fn peek(&self) -> Option<&LpToken> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn section(&mut self, section: Section) -> Result<(), Malformed> {
        match section {
            Section::Objective { maximise } => {
                self.model.maximise = maximise;
                self.label();
                let sum = self.sum(None)?;
                self.model.objective = sum.terms.into_terms();
                self.model.constant = sum.constant;
            }
            Section::Constraints => {
                while self.peek().is_some() {
                    self.label();
                    let (terms, bounds) = self.comparison()?;
                    let added = self.model.add_row(Row { terms, bounds });
                    added.or_else(|message| self.malformed(message))?;
                }
            }
            Section::Bounds => {
                while self.peek().is_some() {
                    self.bound()?;
                }
            }
            Section::Integers | Section::Binaries => {
                while let Some(LpToken::Name(name)) = self.peek().cloned() {
                    let variable = self.known(&name)?;
                    let variable = &mut self.model.variables[variable];
                    variable.is_integer = true;
                    if section == Section::Binaries {
                        let [low, high] = [RBig::ZERO, RBig::ONE].map(Some);
                        variable.bounds = Bounds { low, high };
                    }
                    self.at += 1;
                }
            }
            Section::End => {}
        }
        if self.peek().is_some() { self.malformed("something without meaning") } else { Ok(()) }
    }

    /// Passes over `name :`.
    fn label(&mut self) {
        if self.is_label(self.at) {
            self.at += 2;
        }
    }

    fn is_label(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), Some((LpToken::Name(_), _)))
            && matches!(self.tokens.get(at + 1), Some((LpToken::Colon, _)))
    }

    fn known(&self, name: &str) -> Result<usize, Malformed> {
        match self.model.known(name) {
            Some(variable) => Ok(variable),
            None => self.malformed(format!("'{name}' is in no objective and no constraint")),
        }
    }

    /// A sum, up to a comparison, a label, or the end of `line` where one is given.
    fn sum(&mut self, line: Option<usize>) -> Result<LinearSum, Malformed> {
        let mut sum = LinearSum::default();
        let start = self.at;
        while let Some((token, number)) = self.tokens.get(self.at).cloned() {
            if line.is_some_and(|line| line != number) || self.is_label(self.at) {
                break;
            }
            let (mut factor, mut is_signed) = (RBig::ONE, false);
            let mut token = token;
            while let LpToken::Sign(minus) = token {
                if minus {
                    factor = -factor;
                }
                is_signed = true;
                self.at += 1;
                let Some(next) = self.peek() else {
                    return self.malformed("a sign without a term");
                };
                token = next.clone();
            }
            if matches!(token, LpToken::Compare(_) | LpToken::Colon) {
                if is_signed {
                    return self.malformed("a sign without a term");
                }
                break;
            }
            // Terms are apart by signs.
            if self.at > start && !is_signed {
                return self.malformed("two terms without a sign between them");
            }
            let mut has_number = false;
            if let Some(LpToken::Number(value)) = self.peek() {
                factor *= value;
                has_number = true;
                self.at += 1;
            }
            let same_line =
                line.is_none_or(|_| self.tokens.get(self.at).is_some_and(|(_, l)| *l == number));
            match self.peek().cloned() {
                Some(LpToken::Name(name)) if same_line && !self.is_label(self.at) => {
                    let variable = self.model.variable(&name);
                    let variable = variable.or_else(|message| self.malformed(message))?;
                    sum.terms.add(variable, factor);
                    self.at += 1;
                }
                _ if has_number => sum.constant += factor,
                _ => return self.malformed("a term is missing"),
            }
        }
        if self.at == start && line.is_some() {
            return self.malformed("a side of a comparison is missing");
        }
        Ok(sum)
    }

    fn compare(&mut self) -> Option<char> {
        let Some(LpToken::Compare(sign)) = self.peek() else { return None };
        let sign = *sign;
        self.at += 1;
        Some(sign)
    }

    /// `sum <= sum`, or `number <= sum <= number`, as bounds of a sum without a constant.
    fn comparison(&mut self) -> Result<(Terms, Bounds), Malformed> {
        let left = self.sum(None)?;
        let Some(sign) = self.compare() else { return self.malformed("a comparison is missing") };
        let line = self.line();
        let middle = self.sum(Some(line))?;
        let on_line = self.tokens.get(self.at).is_some_and(|(_, next)| *next == line);
        let second = if on_line { self.compare() } else { None };
        let Some(second) = second else {
            let mut terms = left.terms;
            for (variable, factor) in middle.terms.into_terms() {
                terms.add(variable, -factor);
            }
            return Ok((terms.into_terms(), bounds(sign, middle.constant - left.constant)));
        };
        let line = self.line();
        let right = self.sum(Some(line))?;
        if !left.terms.is_empty() || !right.terms.is_empty() || sign != second || sign == '=' {
            return self.malformed("a range is a number, a sum and a number");
        }
        let mut range = bounds(flipped(sign), left.constant - &middle.constant);
        range.tighten(bounds(second, right.constant - middle.constant));
        Ok((middle.terms.into_terms(), range))
    }

    /// A line of bounds.
    fn bound(&mut self) -> Result<(), Malformed> {
        let line = self.line();
        let words: Vec<LpToken> = self.tokens[self.at..]
            .iter()
            .take_while(|(_, next)| *next == line)
            .map(|(token, _)| token.clone())
            .collect();
        if let [LpToken::Name(name), LpToken::Name(free)] = words.as_slice()
            && free.eq_ignore_ascii_case("free")
        {
            let variable = self.known(name)?;
            self.model.variables[variable].bounds = Bounds::default();
            self.at += 2;
            return Ok(());
        }
        let mut sides = Vec::new();
        let mut signs = Vec::new();
        for part in words.split_inclusive(|token| matches!(token, LpToken::Compare(_))) {
            let part = match part.split_last() {
                Some((LpToken::Compare(sign), rest)) => {
                    signs.push(*sign);
                    rest
                }
                _ => part,
            };
            sides.push(side(part).map_or_else(|| self.malformed("no bound"), Ok)?);
        }
        self.at += words.len();
        let place = sides.iter().position(|side| matches!(side, BoundSide::Variable(_)));
        let (Some(place), true) = (place, signs.len() + 1 == sides.len()) else {
            return self.malformed("no bound");
        };
        let BoundSide::Variable(name) = &sides[place] else { unreachable!("its place was found") };
        let variable = self.known(name)?;
        for (index, side) in sides.iter().enumerate().filter(|(index, _)| *index != place) {
            let sign = if index < place { flipped(signs[index]) } else { signs[place] };
            let value = match side {
                BoundSide::Number(value) => Some(value.clone()),
                BoundSide::Infinite => None,
                BoundSide::Variable(_) => return self.malformed("a bound is a number"),
            };
            let own = &mut self.model.variables[variable].bounds;
            if sign != '<' {
                own.low.clone_from(&value);
            }
            if sign != '>' {
                own.high = value;
            }
        }
        if place > 1 || sides.len() > 3 || sides.len() < 2 {
            return self.malformed("no bound");
        }
        Ok(())
    }
}

/// A side of a bound.
enum BoundSide {
    Number(RBig),
    Infinite,
    Variable(String),
}

fn side(tokens: &[LpToken]) -> Option<BoundSide> {
    let (minus, rest) = match tokens {
        [LpToken::Sign(minus), rest @ ..] => (Some(*minus), rest),
        rest => (None, rest),
    };
    match rest {
        [LpToken::Number(value)] => Some(BoundSide::Number(if minus == Some(true) {
            -value.clone()
        } else {
            value.clone()
        })),
        [LpToken::Name(name)]
            if ["inf", "infinity"].iter().any(|word| name.eq_ignore_ascii_case(word)) =>
        {
            Some(BoundSide::Infinite)
        }
        [LpToken::Name(name)] if minus.is_none() => Some(BoundSide::Variable(name.clone())),
        _ => None,
    }
}

fn flipped(sign: char) -> char {
    match sign {
        '<' => '>',
        '>' => '<',
        other => other,
    }
}

fn bounds(sign: char, value: RBig) -> Bounds {
    match sign {
        '<' => Bounds { low: None, high: Some(value) },
        '>' => Bounds { low: Some(value), high: None },
        _ => Bounds { low: Some(value.clone()), high: Some(value) },
    }
}
