//! Commands: fonts, sizes, spaces, delimiters, environments.

use crate::answer::Note;
use crate::read::names;
use crate::read::token::{Bracket, Environment, Gap, Style, Token};

use super::{Lexer, Opened};

impl<'a> Lexer<'a> {
    /// Reads a backslash and what belongs to it.
    pub(super) fn command(&mut self) -> Option<()> {
        self.at += 1;
        let rest = self.rest();
        let len = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        if len == 0 {
            return self.symbol();
        }
        let name = &rest[..len];
        self.at += len;
        match name {
            "left" | "right" | "mleft" | "mright" => return self.delimiter(name.ends_with("eft")),
            "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl" | "Bigr" | "biggl"
            | "biggr" | "displaystyle" | "textstyle" | "scriptstyle" | "limits" | "nolimits"
            | "rm" | "bf" | "it" | "tiny" | "footnotesize" | "small" | "normalsize" | "large"
            | "Large" | "LARGE" | "huge" | "Huge" | "checkmark" | "blacksquare" | "qed"
            | "therefore" => {}
            "color" | "textcolor" | "tag" | "label" | "hypertarget" => {
                return self.unseen_argument();
            }
            "quad" | "qquad" => self.space(Gap::Wide),
            "thinspace" | "enspace" | "space" | "hfill" => self.space(Gap::Blank),
            "text" | "textrm" | "textbf" | "textit" | "textnormal" | "mathrm" | "mbox" | "hbox"
            | "textup" | "textsf" => self.font(true),
            "mathbf" | "mathit" | "mathsf" | "boldsymbol" | "bm" | "mathcal" | "mathscr"
            | "mathfrak" | "pmb" | "underline" => self.font(false),
            "Pr" | "dim" | "deg" | "ker" | "rank" | "nabla" => {
                self.push(Token::Word { text: name, style: Style::Upright });
            }
            "boxed" | "fbox" => return self.boxed(),
            "mathbb" => return self.blackboard(),
            "operatorname" => return self.operator(),
            "begin" => return self.begin(),
            "end" => return self.end(),
            _ => return self.named(name),
        }
        Some(())
    }

    fn named(&mut self, name: &'a str) -> Option<()> {
        let name = match names::other_shape(name) {
            Some(letter) if self.shapes == Shapes::OneName => letter,
            Some(_) | None => name,
        };
        if let Some(token) = names::command(name) {
            match token {
                Token::Open(bracket) => self.open(bracket),
                Token::Close(bracket) => return self.close(bracket),
                Token::Degree => self.degree(),
                token => self.push(token),
            }
            return Some(());
        }
        // `\quadx` is a space that ran into its neighbour, as `\vertx` is a bar.
        for (prefix, gap) in [("qquad", Gap::Wide), ("quad", Gap::Wide)] {
            if name.starts_with(prefix) && self.options.repair {
                self.at -= name.len() - prefix.len();
                self.space(gap);
                return Some(());
            }
        }
        None
    }

    /// Lexes `^\circ` and `^{\circ}` as one token.
    fn degree(&mut self) {
        let items = &mut self.lexed.items;
        match items.as_slice() {
            [.., caret, brace]
                if caret.token == Token::Caret && brace.token == Token::Open(Bracket::Group) =>
            {
                if let Some(rest) = self.text[self.at..].trim_start().strip_prefix('}') {
                    self.at = self.text.len() - rest.len();
                    items.truncate(items.len() - 2);
                    self.open.pop();
                }
            }
            [.., caret] if caret.token == Token::Caret => {
                items.pop();
            }
            _ => {}
        }
        self.push(Token::Degree);
    }

    /// Reads what follows `\left` or `\right`.
    fn delimiter(&mut self, is_left: bool) -> Option<()> {
        self.skip_blanks();
        if self.eat(".") {
            if !is_left {
                return self.close_unseen();
            }
            self.open(Bracket::Group);
            return Some(());
        }
        for bar in ["|", "\\vert", "\\lvert", "\\rvert"] {
            if self.eat(bar) {
                if is_left {
                    self.open(Bracket::Bar);
                    return Some(());
                }
                return self.close(Bracket::Bar);
            }
        }
        if is_left && self.eat("{") {
            self.open(Bracket::Brace);
            return Some(());
        }
        if !is_left && self.eat("}") {
            return self.close(Bracket::Brace);
        }
        for (written, bracket) in [("[", Bracket::Square), ("(", Bracket::Round)] {
            if self.eat(written) {
                if is_left {
                    self.open(bracket);
                    return Some(());
                }
                return self.close(Bracket::Reversed);
            }
        }
        if is_left && self.eat("]") {
            self.open(Bracket::Reversed);
        }
        Some(())
    }

    /// Reads `\right.`, the partner of any bracket: a brace before rows opens a system or cases.
    fn close_unseen(&mut self) -> Option<()> {
        let Some(Opened::Token { bracket, at }) = self.open.last().copied() else {
            return None;
        };
        match bracket {
            Bracket::Group => {}
            Bracket::Brace => {
                let rows = at + 1;
                let first = self.lexed.items.get(rows)?;
                if first.token != Token::Open(Bracket::Environment(Environment::Matrix)) {
                    return None;
                }
                let last = first.mate;
                let cases = Bracket::Environment(Environment::Cases);
                self.lexed.items[rows].token = Token::Open(cases);
                self.lexed.items[last].token = Token::Close(cases);
                self.lexed.items[at].token = Token::Open(Bracket::Group);
                self.brackets -= 1;
                self.open.pop();
                self.open.push(Opened::Token { bracket: Bracket::Group, at });
            }
            _ => return None,
        }
        self.close(Bracket::Group)
    }

    /// A font: its braces are left out where it holds nothing but words, and group elsewhere.
    fn font(&mut self, upright: bool) {
        self.skip_blanks();
        if !self.eat("{") {
            // `\text m`, `\mathbf x`: a font of one letter.
            let letter =
                self.rest().get(..1).filter(|letter| letter.as_bytes()[0].is_ascii_alphabetic());
            if let (true, Some(text)) = (upright, letter) {
                self.at += 1;
                self.push(Token::Word { text, style: Style::Upright });
            }
            return;
        }
        let rest = self.rest();
        let words = rest.find(|c: char| !(c.is_alphabetic() || " .,'-/:;".contains(c)));
        let is_words = words.is_some_and(|end| rest[end..].starts_with('}'));
        if upright {
            self.upright += 1;
            self.open.push(Opened::Font { upright });
            self.space(Gap::Thin);
        } else if is_words && self.previous() != Some(Token::Underscore) {
            self.open.push(Opened::Font { upright });
        } else {
            self.open(Bracket::Group);
        }
    }

    /// Reads a box around an answer, or around one of several: its braces mean nothing.
    fn boxed(&mut self) -> Option<()> {
        self.skip_blanks();
        let is_start = match self.previous() {
            None => true,
            Some(token) => !token.ends_operand() || token.word().is_some(),
        };
        if !is_start || !self.eat("{") {
            return None;
        }
        self.open.push(Opened::Box);
        self.space(Gap::Blank);
        Some(())
    }

    /// Skips the braces after a command that colours or labels what stands beside them.
    fn unseen_argument(&mut self) -> Option<()> {
        self.eat("*");
        self.skip_blanks();
        let inner = self.rest().strip_prefix('{')?;
        let length = inner.find(['{', '}', '\\']).filter(|at| inner[*at..].starts_with('}'))?;
        self.at += length + 2;
        self.space(Gap::Thin);
        Some(())
    }

    /// Reads the name in braces after a command.
    fn braced(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        self.eat("*");
        let inner = self.rest().strip_prefix('{')?;
        let len = inner.find(|c: char| !(c.is_ascii_alphabetic() || c == '*'))?;
        let name = &inner[..len];
        inner[len..].strip_prefix('}')?;
        self.at += len + 2;
        Some(name)
    }

    fn blackboard(&mut self) -> Option<()> {
        self.skip_blanks();
        let letter = match self.rest().get(..1) {
            Some("{") => self.braced()?,
            Some(letter) => {
                self.at += 1;
                letter
            }
            None => return None,
        };
        self.push(match names::blackboard(letter) {
            Some(numbers) => Token::Numbers(numbers),
            // The expectation and the probability.
            None if matches!(letter, "E" | "P") => {
                Token::Word { text: letter, style: Style::Formula }
            }
            None => return None,
        });
        Some(())
    }

    fn operator(&mut self) -> Option<()> {
        let name = self.braced()?;
        let word = Token::Word { text: name, style: Style::Upright };
        self.push(names::function(name).unwrap_or(word));
        Some(())
    }

    fn begin(&mut self) -> Option<()> {
        let environment = environment(self.braced()?)?;
        // The columns of an array.
        if self.rest().starts_with(['{', '[']) && environment == Environment::Matrix {
            let end = self.rest().find(['}', ']'])?;
            let is_columns = self.rest()[1..end].chars().all(|c| "lcr| ".contains(c));
            self.at += if is_columns { end + 1 } else { 0 };
        }
        self.open(Bracket::Environment(environment));
        Some(())
    }

    fn end(&mut self) -> Option<()> {
        let environment = environment(self.braced()?)?;
        self.close(Bracket::Environment(environment))
    }

    /// Reads a backslash and one character that is not a letter.
    fn symbol(&mut self) -> Option<()> {
        let symbol = self.rest().chars().next()?;
        self.at += symbol.len_utf8();
        match symbol {
            ',' | ';' | ':' | '>' => self.space(Gap::Thin),
            '!' => {}
            ' ' | '\n' => self.space(Gap::Blank),
            '|' => self.push(Token::Bar),
            '%' => self.push(Token::Percent),
            '$' => self.push(Token::Currency("dollar")),
            '{' => self.open(Bracket::Brace),
            '}' => return self.close(Bracket::Brace),
            '(' | '[' => {
                self.in_formula = true;
                self.space(Gap::Blank);
            }
            ')' | ']' => {
                self.in_formula = false;
                self.space(Gap::Blank);
            }
            '\\' => return self.row(),
            _ => return None,
        }
        Some(())
    }

    /// Reads `\\`: the end of a row, or a backslash that was escaped once too often.
    fn row(&mut self) -> Option<()> {
        if self.has_rows {
            self.push(Token::NewRow);
            self.at += row_space(self.rest());
            return Some(());
        }
        let is_command = self.rest().starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_command || !self.options.repair {
            return None;
        }
        self.lexed.notes.push(Note::StrayDelimiter);
        self.command_after_backslash()
    }

    fn command_after_backslash(&mut self) -> Option<()> {
        self.at -= 1;
        self.command()
    }
}

/// Bytes of the space after a row's end: of `[2pt]`.
fn row_space(rest: &str) -> usize {
    let inner = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((inner, _)) = inner else { return 0 };
    let unit = inner.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let has_number = unit.len() < inner.len();
    let is_length = ["pt", "em", "ex", "mm", "cm", "in", "mu"].contains(&unit.trim());
    if has_number && is_length { inner.len() + 2 } else { 0 }
}

/// Meaning of the two shapes of a Greek letter in one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shapes {
    OneName,
    /// A letter stands in the text in both of its shapes.
    TwoNames,
}

pub(super) fn shapes(text: &str) -> Shapes {
    let has_both = |letter: &&str| {
        text.contains(&format!("\\{letter}")) && text.contains(&format!("\\var{letter}"))
    };
    if names::TWO_SHAPES.iter().any(has_both) { Shapes::TwoNames } else { Shapes::OneName }
}

fn environment(name: &str) -> Option<Environment> {
    Some(match name.strip_suffix('*').unwrap_or(name) {
        "pmatrix" | "bmatrix" | "matrix" | "smallmatrix" | "array" => Environment::Matrix,
        "vmatrix" => Environment::Determinant,
        "cases" | "dcases" => Environment::Cases,
        _ => return None,
    })
}
