//! Lexer: text to tokens in linear time.
//!
//! One lexer serves both dialects, which differ in the meaning of runs of letters, given by their
//! [`Style`]. It handles LaTeX's spacing, fonts, sizes and formula delimiters for all later stages,
//! and stops at the first unknown character or command.

mod command;

use crate::answer::{Note, Relation, Unread};

use super::literal::{self, DigitRules};
use super::token::{Bracket, Gap, Lexeme, Style, Token};
use super::{Dialect, ReadOptions};

use self::command::Shapes;

/// Brackets that may be open at once.
const MAX_OPEN: usize = 400;

/// The tokens of a text and its repairs.
#[derive(Debug)]
pub(super) struct Lexed<'a> {
    pub(super) items: Vec<Lexeme<'a>>,
    pub(super) notes: Vec<Note>,
}

/// Returns the tokens of `text`, which is normalised.
pub(super) fn items(
    text: &str,
    dialect: Dialect,
    options: ReadOptions,
) -> Result<Lexed<'_>, Unread> {
    let dollars = count_dollars(text);
    let commands = Commands::of(text);
    let mut lexer = Lexer {
        text,
        at: 0,
        lexed: Lexed { items: Vec::with_capacity(text.len().min(10)), notes: Vec::new() },
        gap: Gap::None,
        dialect,
        options,
        open: Vec::new(),
        brackets: 0,
        upright: 0,
        dollars,
        has_formulas: dollars > 1 || commands.has_formulas,
        in_formula: false,
        has_rows: commands.has_rows,
        shapes: if commands.has_shapes { command::shapes(text) } else { Shapes::OneName },
    };
    while lexer.at < text.len() {
        lexer.step().ok_or(Unread::NotMaths)?;
        if lexer.open.len() > MAX_OPEN {
            return Err(Unread::TooCostly);
        }
    }
    lexer.finish().ok_or(Unread::NotMaths)
}

/// Counts dollar signs without a backslash.
fn count_dollars(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_bare = |at: &usize| *at == 0 || bytes[at - 1] != b'\\';
    memchr::memchr_iter(b'$', bytes).filter(is_bare).count()
}

/// Commands that a text holds, which change how others are read.
#[derive(Debug, Default, Clone, Copy)]
struct Commands {
    /// `\(` or `\[`.
    has_formulas: bool,
    /// `\begin`.
    has_rows: bool,
    /// `\varphi` and its kin.
    has_shapes: bool,
}

impl Commands {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut found = Self::default();
        for at in memchr::memchr_iter(b'\\', bytes) {
            let name = &bytes[at + 1..];
            found.has_formulas |= matches!(name.first(), Some(b'(' | b'['));
            found.has_rows |= name.starts_with(b"begin");
            found.has_shapes |= name.starts_with(b"var");
        }
        found
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    lexed: Lexed<'a>,
    /// The white space since the last token.
    gap: Gap,
    dialect: Dialect,
    options: ReadOptions,
    /// Open brackets, innermost last.
    open: Vec<Opened>,
    /// Number of visible brackets among them.
    brackets: usize,
    /// Number of upright open fonts.
    upright: usize,
    /// Bare dollar signs in the text: one is a currency sign, pairs enclose formulas.
    dollars: usize,
    /// Whether some of the text is marked as formulas, so that the rest is prose.
    has_formulas: bool,
    in_formula: bool,
    /// Whether `\\` may end a row.
    has_rows: bool,
    shapes: Shapes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opened {
    /// A token that waits for its partner.
    Token { bracket: Bracket, at: usize },
    /// A brace of `\text{…}` that left no token.
    Font { upright: bool },
    /// The brace of `\boxed{…}`.
    Box,
}

impl<'a> Lexer<'a> {
    fn push(&mut self, token: Token<'a>) {
        let mate = self.lexed.items.len();
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        self.lexed.items.push(Lexeme { token, gap, mate });
    }

    fn space(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn previous(&self) -> Option<Token<'a>> {
        self.lexed.items.last().map(|item| item.token)
    }

    /// Takes `prefix` if it comes next.
    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Reads one token or skips what means nothing.
    fn step(&mut self) -> Option<()> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        if first.is_ascii_digit() || (first == '.' && starts_with_digit(&rest[1..])) {
            return self.number();
        }
        // The point of `.\overline{3}`.
        if first == '.' && (rest.starts_with(".\\overline{") || rest.starts_with(".\\dot")) {
            return self.number();
        }
        if first.is_alphabetic() {
            let len = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            // The one name that holds a digit.
            let len = len + usize::from(rest.starts_with("factorial2("));
            let part = [".open", ".Lopen", ".Ropen"]
                .into_iter()
                .find(|part| &rest[..len] == "Interval" && rest[len..].starts_with(part));
            let len = len + part.map_or(0, str::len);
            self.word(&rest[..len]);
            return Some(());
        }
        if first.is_whitespace() {
            self.at += first.len_utf8();
            self.space(Gap::Blank);
            return Some(());
        }
        match first {
            '\\' => self.command(),
            '{' => {
                self.open_brace();
                Some(())
            }
            '}' => self.close_brace(),
            '$' => self.dollar(),
            _ => self.sign(first),
        }
    }

    fn number(&mut self) -> Option<()> {
        let follows_comma = self.gap == Gap::None && self.previous() == Some(Token::Comma);
        let is_inside = self.brackets > 0;
        let rules = DigitRules {
            comma_groups: !is_inside && !follows_comma,
            decimal_comma: self.options.decimal_comma && !is_inside,
            signed_exponent: self.dialect == Dialect::Plain,
        };
        let scanned = literal::scan(self.rest(), rules)?;
        if scanned.len == 0 {
            return None;
        }
        if scanned.decimal_comma {
            self.lexed.notes.push(Note::DecimalComma);
        }
        self.at += scanned.len;
        self.push(Token::Number(scanned.literal));
        Some(())
    }

    fn word(&mut self, text: &'a str) {
        self.at += text.len();
        let is_prose = self.has_formulas && !self.in_formula;
        let style = if self.upright > 0 || is_prose {
            Style::Upright
        } else if self.dialect == Dialect::Latex {
            Style::Formula
        } else {
            Style::Plain
        };
        self.push(Token::Word { text, style });
    }

    fn open_brace(&mut self) {
        // `{,}` and `{.}` keep TeX from putting a space there.
        if self.decimal_part() {
            return;
        }
        for (written, token) in [("{,}", Token::Comma), ("{:}", Token::Colon)] {
            if self.eat(written) {
                self.push(token);
                return;
            }
        }
        self.at += 1;
        self.open(Bracket::Group);
    }

    /// Reads the `{,}5` of `1{,}5` into the number before it: TeX spells the decimal comma so. Three
    /// digits after it are thousands.
    fn decimal_part(&mut self) -> bool {
        let Some(Token::Number(literal)) = self.previous() else {
            return false;
        };
        let Some(digits) = self.rest().strip_prefix("{,}") else {
            return false;
        };
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        let goes_on = digits[length..].starts_with(['.', '{', ',']);
        if length == 0 || length == 3 || goes_on || !literal.is_digits() || self.gap != Gap::None {
            return false;
        }
        let fraction = Some(&digits[..length]);
        self.lexed.items.last_mut().expect("a number is there").token =
            Token::Number(literal::Literal { fraction, ..literal });
        self.at += "{,}".len() + length;
        true
    }

    fn open(&mut self, bracket: Bracket) {
        let at = self.lexed.items.len();
        self.brackets += usize::from(bracket != Bracket::Group);
        self.open.push(Opened::Token { bracket, at });
        self.push(Token::Open(bracket));
    }

    fn close_brace(&mut self) -> Option<()> {
        self.at += 1;
        match self.open.last() {
            Some(Opened::Box) => {
                self.open.pop();
                self.space(Gap::Blank);
                let rest = self.rest().trim_start();
                let goes_on = rest.starts_with(['^', '_', '!', '*', '/', '+', '-']);
                (!goes_on).then_some(())
            }
            Some(Opened::Font { upright }) => {
                self.upright -= usize::from(*upright);
                self.open.pop();
                self.space(Gap::Thin);
                Some(())
            }
            // `\text{(at } x = 3)`: the bracket goes on behind the words.
            Some(Opened::Token { bracket: Bracket::Round, .. }) if self.crosses_font() => {
                let font = self.open.remove(self.open.len() - 2);
                self.upright -= usize::from(matches!(font, Opened::Font { upright: true }));
                self.space(Gap::Thin);
                Some(())
            }
            // One brace too many at the end.
            None if self.may_drop() => {
                self.lexed.notes.push(Note::StrayDelimiter);
                Some(())
            }
            Some(Opened::Token { .. }) | None => self.close(Bracket::Group),
        }
    }

    /// Returns whether the innermost bracket was opened in a font that shuts before it.
    fn crosses_font(&self) -> bool {
        let below = self.open.len().checked_sub(2).map(|at| self.open[at]);
        matches!(below, Some(Opened::Font { .. }))
    }

    /// Returns whether a stray delimiter was left out already: one is a slip, two are another text.
    /// Looked at before [`Self::is_last`], so that a text of delimiters costs linear time.
    fn has_stray(&self) -> bool {
        self.lexed.notes.contains(&Note::StrayDelimiter)
    }

    fn may_drop(&self) -> bool {
        let may = self.options.repair && !self.has_stray() && !self.lexed.items.is_empty();
        may && self.is_last()
    }

    fn is_last(&self) -> bool {
        self.rest().trim_matches(['}', '$', '.', ' ', '\n']).is_empty()
    }

    /// Shuts the innermost bracket, which must be a partner of `bracket`.
    fn close(&mut self, bracket: Bracket) -> Option<()> {
        let Some(Opened::Token { bracket: open, at }) = self.open.pop() else {
            return None;
        };
        self.brackets -= usize::from(open != Bracket::Group);
        let is_interval = |b| matches!(b, Bracket::Round | Bracket::Square | Bracket::Reversed);
        if open != bracket && !(is_interval(open) && is_interval(bracket)) {
            return None;
        }
        let mate = self.lexed.items.len();
        self.lexed.items[at].mate = mate;
        self.push(Token::Close(bracket));
        self.lexed.items[mate].mate = at;
        Some(())
    }

    fn dollar(&mut self) -> Option<()> {
        self.at += 1;
        let is_money = matches!(self.previous(), None | Some(Token::Number(_)));
        let may_be_stray = self.dialect == Dialect::Latex && !is_money;
        if self.dollars == 1 && !(may_be_stray && self.is_last()) {
            self.push(Token::Currency("dollar"));
            return Some(());
        }
        let is_odd = self.dollars % 2 == 1 && !self.has_stray();
        if is_odd && (self.lexed.items.is_empty() || self.is_last()) {
            self.dollars -= 1;
            self.lexed.notes.push(Note::StrayDelimiter);
            return self.options.repair.then_some(());
        }
        self.in_formula = !self.in_formula;
        self.space(Gap::Blank);
        Some(())
    }

    /// Reads a character that is neither letter nor digit.
    fn sign(&mut self, first: char) -> Option<()> {
        // `5!=120` is a factorial.
        // In LaTeX `k!=` is one, too.
        let is_factorial = self.gap == Gap::None
            && match self.previous() {
                Some(Token::Number(_)) => true,
                Some(previous) => self.dialect == Dialect::Latex && previous.ends_operand(),
                None => false,
            };
        let signs = SIGNS.iter().filter(|(written, _)| written.starts_with(first));
        for (written, token) in signs {
            if is_factorial && *written == "!=" {
                continue;
            }
            if self.eat(written) {
                match *token {
                    Token::Open(bracket) => self.open_or_reverse(bracket),
                    Token::Close(bracket) => return self.close_or_reverse(bracket),
                    token => self.push(token),
                }
                return Some(());
            }
        }
        match first {
            '~' => self.space(Gap::Blank),
            // The full stop of a sentence, at the end of the text, of a formula or of cases in it.
            '.' if self.rest()[1..].trim_start_matches(['$', '}', ' ']).is_empty()
                || self.rest()[1..].trim_start_matches(['}', ' ', '\n']).starts_with("\\end") => {}
            _ => return None,
        }
        self.at += first.len_utf8();
        Some(())
    }

    /// Lexes `[`, or the `[` that shuts `[0, 1[`.
    fn open_or_reverse(&mut self, bracket: Bracket) {
        let is_inside = matches!(
            self.open.last(),
            Some(Opened::Token {
                bracket: Bracket::Square | Bracket::Reversed | Bracket::Round,
                ..
            })
        );
        let mut rest = self.rest().trim_start_matches([' ', '$', '.']);
        let spaces = ["\\,", "\\;", "\\:", "\\!", "\\ ", "\\quad", "~"];
        while let Some(after) = spaces.iter().find_map(|space| rest.strip_prefix(space)) {
            rest = after.trim_start_matches([' ', '$', '.']);
        }
        let ends = rest.is_empty()
            || ["\\cup", "\\cap", "\\setminus", "U ", "\\)", "\\]", "}"]
                .iter()
                .any(|next| rest.starts_with(next));
        if bracket == Bracket::Square && is_inside && ends {
            let shut = self.close(Bracket::Reversed);
            debug_assert!(shut.is_some(), "an interval bracket is open");
        } else {
            self.open(bracket);
        }
    }

    /// Reads Lexes `]`, or the `]` that opens `]0, 1]`.
    fn close_or_reverse(&mut self, bracket: Bracket) -> Option<()> {
        let opens = bracket == Bracket::Square
            && !self.previous().is_some_and(Token::ends_operand)
            && self.previous() != Some(Token::Open(Bracket::Square));
        if opens {
            self.open(Bracket::Reversed);
            return Some(());
        }
        self.close(bracket)
    }

    /// Returns the tokens, if all that was opened is shut, or can be.
    fn finish(mut self) -> Option<Lexed<'a>> {
        while let Some(opened) = self.open.last().copied() {
            if !self.options.repair || self.lexed.notes.contains(&Note::StrayDelimiter) {
                return None;
            }
            self.lexed.notes.push(Note::StrayDelimiter);
            match opened {
                Opened::Font { .. } | Opened::Box => {
                    self.open.pop();
                }
                Opened::Token { bracket: bracket @ (Bracket::Group | Bracket::Round), at } => {
                    let holds_something = at + 1 < self.lexed.items.len();
                    self.close(bracket).filter(|()| holds_something)?;
                }
                Opened::Token { .. } => return None,
            }
        }
        Some(self.lexed)
    }
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Signs, longer ones before their prefixes.
const SIGNS: &[(&str, Token<'static>)] = &[
    ("...", Token::Ellipsis),
    ("**", Token::Caret),
    ("<=", Token::Relation(Relation::LessOrEqual)),
    (">=", Token::Relation(Relation::GreaterOrEqual)),
    ("!=", Token::Relation(Relation::NotEqual)),
    ("==", Token::Relation(Relation::Equal)),
    ("+/-", Token::PlusMinus),
    ("->", Token::Arrow),
    ("&=", Token::Relation(Relation::Equal)),
    ("+", Token::Plus),
    ("-", Token::Minus),
    ("*", Token::Times),
    ("/", Token::Slash),
    ("^", Token::Caret),
    ("_", Token::Underscore),
    ("!", Token::Bang),
    ("'", Token::Prime),
    ("%", Token::Percent),
    (",", Token::Comma),
    (";", Token::Semicolon),
    (":", Token::Colon),
    ("|", Token::Bar),
    ("&", Token::Ampersand),
    ("=", Token::Relation(Relation::Equal)),
    ("<", Token::Relation(Relation::Less)),
    (">", Token::Relation(Relation::Greater)),
    ("(", Token::Open(Bracket::Round)),
    (")", Token::Close(Bracket::Round)),
    ("[", Token::Open(Bracket::Square)),
    ("]", Token::Close(Bracket::Square)),
    ("⟨", Token::Open(Bracket::Angle)),
    ("⟩", Token::Close(Bracket::Angle)),
    ("≈", Token::Approx),
    ("~=", Token::Approx),
];
