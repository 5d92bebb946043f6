//! Answers for people, as they were understood.

use dashu::base::BitTest as _;

use super::answer::{
    Answer, AnswerForm, Brackets, Chain, Condition, Numeral, Region, Relation, Subject, Value,
};
use super::calendar::{Clock, Date};
use super::expr::{Expr, Node, Workspace};
use super::number::power_of_ten;

/// Texts in a sentence have at most this many characters.
const MAX_CHARS: usize = 120;

/// Most digits behind the point, and bits in all, of a number that is written as a decimal.
const MAX_PLACES: i32 = 60;
const MAX_BITS: usize = 400;

/// Notation of formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Latex,
}

/// Writes answers of one workspace.
pub(super) struct Display<'s, 'f> {
    pub(super) ws: &'s Workspace<'f>,
    pub(super) style: Style,
}

impl Display<'_, '_> {
    /// Returns `answer` with what it is of.
    pub(super) fn answer(&self, answer: &Answer) -> String {
        let mut out = String::new();
        for subject in &answer.subjects {
            out += &self.subject(subject);
            out += match &answer.form {
                AnswerForm::Region(_) => self.words(" in ", " \\in "),
                AnswerForm::Value(_)
                | AnswerForm::Equation(..)
                | AnswerForm::Inequality(_)
                | AnswerForm::Set(_)
                | AnswerForm::Tuple(..)
                | AnswerForm::List(_)
                | AnswerForm::Matrix(_)
                | AnswerForm::Piecewise(_)
                | AnswerForm::Congruence { .. }
                | AnswerForm::Numeral(_)
                | AnswerForm::Ratio(_)
                | AnswerForm::Date(_)
                | AnswerForm::Clock(_)
                | AnswerForm::Truth(_)
                | AnswerForm::Sequence(_)
                | AnswerForm::Text(_) => " = ",
            };
        }
        out += &self.form(&answer.form);
        shortened(out)
    }

    fn subject(&self, subject: &Subject) -> String {
        match subject {
            Subject::Expr(expr) => self.expr(*expr),
            Subject::Several(exprs) => format!("({})", self.exprs(exprs, ", ")),
            Subject::Text(text) => text.clone(),
        }
    }

    fn form(&self, form: &AnswerForm) -> String {
        match form {
            AnswerForm::Value(value) => {
                let mut out = self.decimal(value).unwrap_or_else(|| self.expr(value.expr));
                if let Some(unit) = &value.unit {
                    out.push(' ');
                    out += &unit.name;
                }
                out
            }
            AnswerForm::Equation(left, right) => {
                format!("{} = {}", self.expr(*left), self.expr(*right))
            }
            AnswerForm::Inequality(chain) => self.chain(chain),
            AnswerForm::Region(region) => self.region(region),
            AnswerForm::Set(members) => {
                let (open, close) = match self.style {
                    Style::Plain => ("{", "}"),
                    Style::Latex => ("\\{", "\\}"),
                };
                format!("{open}{}{close}", self.members(members))
            }
            AnswerForm::Tuple(brackets, members) => {
                let (open, close) = match (brackets, self.style) {
                    (Brackets::Round, _) => ("(", ")"),
                    (Brackets::Square, _) => ("[", "]"),
                    (Brackets::Angle, Style::Plain) => ("⟨", "⟩"),
                    (Brackets::Angle, Style::Latex) => ("\\langle ", " \\rangle"),
                };
                format!("{open}{}{close}", self.members(members))
            }
            AnswerForm::List(members) => self.members(members),
            AnswerForm::Matrix(rows) => self.matrix(rows),
            AnswerForm::Piecewise(pieces) => {
                let pieces = pieces.iter().map(|(value, condition)| {
                    format!("{} {}", self.expr(*value), self.condition(condition.as_ref()))
                });
                pieces.collect::<Vec<_>>().join("; ")
            }
            AnswerForm::Congruence { residues, modulus } => {
                let (residues, modulus) = (self.exprs(residues, ", "), self.expr(*modulus));
                match self.style {
                    Style::Plain => format!("{residues} (mod {modulus})"),
                    Style::Latex => format!("{residues} \\pmod{{{modulus}}}"),
                }
            }
            AnswerForm::Numeral(numeral) => numeral_text(numeral),
            AnswerForm::Ratio(terms) => self.exprs(terms, ":"),
            AnswerForm::Date(date) => date_text(date),
            AnswerForm::Clock(clock) => clock_text(*clock),
            AnswerForm::Truth(truth) => truth.to_string(),
            AnswerForm::Sequence(text) | AnswerForm::Text(text) => text.clone(),
        }
    }

    /// Returns a value that was written as a decimal in its digits, with its percent sign; `None` for any
    /// other value.
    fn decimal(&self, value: &Value) -> Option<String> {
        let last = value.last_digit.filter(|last| (-MAX_PLACES..0).contains(last))?;
        let Node::Number(number) = self.ws.node(value.expr) else {
            return None;
        };
        let scaled = number.clone() * power_of_ten(-last);
        if !scaled.is_int() || scaled.numerator().bit_len() > MAX_BITS {
            return None;
        }
        let percent = match (value.is_percent, self.style) {
            (false, _) => "",
            (true, Style::Plain) => "%",
            (true, Style::Latex) => "\\%",
        };
        let places = usize::try_from(-last - if value.is_percent { 2 } else { 0 }).ok()?;
        let digits = scaled.numerator().to_string();
        let (sign, digits) = digits.strip_prefix('-').map_or(("", &*digits), |rest| ("-", rest));
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        let point = if places == 0 { "" } else { "." };
        Some(format!("{sign}{whole}{point}{part}{percent}"))
    }

    fn region(&self, region: &Region) -> String {
        let joined = |parts: &[Region], sign: &str| {
            let parts: Vec<String> = parts.iter().map(|part| self.region(part)).collect();
            parts.join(sign)
        };
        match region {
            Region::Interval { from, to, has_from, has_to } => {
                let (open, close) =
                    (if *has_from { '[' } else { '(' }, if *has_to { ']' } else { ')' });
                format!("{open}{}, {}{close}", self.expr(*from), self.expr(*to))
            }
            Region::Points(points) => format!("{{{}}}", self.exprs(points, ", ")),
            Region::Empty => self.words("∅", "\\emptyset").to_owned(),
            Region::Integers => self.words("ℤ", "\\mathbb{Z}").to_owned(),
            Region::Naturals => self.words("ℕ", "\\mathbb{N}").to_owned(),
            Region::Rationals => self.words("ℚ", "\\mathbb{Q}").to_owned(),
            Region::Reals => self.words("ℝ", "\\mathbb{R}").to_owned(),
            Region::Complexes => self.words("ℂ", "\\mathbb{C}").to_owned(),
            Region::Union(parts) => joined(parts, self.words(" ∪ ", " \\cup ")),
            Region::Intersection(parts) => joined(parts, self.words(" ∩ ", " \\cap ")),
            Region::Joined(parts) => joined(parts, ", "),
            Region::Difference(whole, without) => {
                let sign = self.words(" \\ ", " \\setminus ");
                format!("{}{sign}{}", self.region(whole), self.region(without))
            }
            Region::Where(variable, chains) => {
                let chains: Vec<String> = chains.iter().map(|chain| self.chain(chain)).collect();
                format!("{{{} | {}}}", self.expr(*variable), chains.join(", "))
            }
        }
    }

    fn matrix(&self, rows: &[Vec<Expr>]) -> String {
        match self.style {
            Style::Plain => {
                let rows: Vec<String> =
                    rows.iter().map(|row| format!("[{}]", self.exprs(row, ", "))).collect();
                format!("[{}]", rows.join(", "))
            }
            Style::Latex => {
                let rows: Vec<String> = rows.iter().map(|row| self.exprs(row, " & ")).collect();
                format!("\\begin{{pmatrix}}{}\\end{{pmatrix}}", rows.join(" \\\\ "))
            }
        }
    }

    fn condition(&self, condition: Option<&Condition>) -> String {
        match condition {
            None => "otherwise".to_owned(),
            Some(Condition(chains)) => {
                let chains: Vec<String> = chains.iter().map(|chain| self.chain(chain)).collect();
                format!("if {}", chains.join(" and "))
            }
        }
    }

    fn chain(&self, chain: &Chain) -> String {
        let mut out = self.expr(chain.first);
        for (relation, side) in &chain.rest {
            let sign = match self.style {
                Style::Plain => relation.to_string(),
                Style::Latex => latex_sign(*relation).to_owned(),
            };
            for part in [" ", &sign, " ", &self.expr(*side)] {
                out.push_str(part);
            }
        }
        out
    }

    fn members(&self, members: &[Answer]) -> String {
        let members: Vec<String> = members.iter().map(|member| self.answer(member)).collect();
        members.join(", ")
    }

    fn exprs(&self, exprs: &[Expr], sign: &str) -> String {
        let exprs: Vec<String> = exprs.iter().map(|expr| self.expr(*expr)).collect();
        exprs.join(sign)
    }

    /// Returns one expression.
    pub(super) fn expr(&self, expr: Expr) -> String {
        match self.style {
            Style::Plain => self.ws.plain(expr),
            Style::Latex => self.ws.latex(expr),
        }
    }

    fn words(&self, plain: &'static str, latex: &'static str) -> &'static str {
        match self.style {
            Style::Plain => plain,
            Style::Latex => latex,
        }
    }
}

fn latex_sign(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "=",
        Relation::NotEqual => "\\neq",
        Relation::Less => "<",
        Relation::LessOrEqual => "\\leq",
        Relation::Greater => ">",
        Relation::GreaterOrEqual => "\\geq",
    }
}

fn numeral_text(numeral: &Numeral) -> String {
    let sign = if numeral.is_negative { "-" } else { "" };
    format!("{sign}{}_{}", numeral.digits, numeral.base)
}

fn date_text(date: &Date) -> String {
    let year = date.year.map_or_else(|| "????".to_owned(), |year| format!("{year:04}"));
    let day = date.day.map_or_else(|| "??".to_owned(), |day| format!("{day:02}"));
    format!("{year}-{:02}-{day}", date.month)
}

fn clock_text(clock: Clock) -> String {
    let second = clock.second.map_or_else(String::new, |second| format!(":{second:02}"));
    format!("{:02}:{:02}{second}", clock.hour, clock.minute)
}

/// Returns `text` cut to a length that fits a sentence.
pub(super) fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
