//! From ASCII text to the tokens of a number.
//!
//! The lexer knows LaTeX's spacing, fonts and delimiters, so that the reader does not have to. It
//! gives up at the first character that no number holds.

/// A piece of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A run of ASCII digits.
    Digits(&'a str),
    /// A run of ASCII letters; upright when inside `\text{…}` and its kin.
    Word {
        letters: &'a str,
        upright: bool,
    },
    /// White space, LaTeX spacing, or the border of `\text{…}`.
    Space,
    /// Where a formula ends; unlike a space it never joins digits.
    FormulaEnd,
    Point,
    Comma,
    Plus,
    Minus,
    Slash,
    Times,
    Caret,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    Percent,
    Equals,
    Approx,
    Fraction,
    Degree,
    /// A currency sign, by the name of its unit.
    Currency(&'static str),
}

/// The tokens of `text`, or `None` where it cannot be a number.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Vec::with_capacity(8),
        fonts: Vec::new(),
        upright: 0,
        dollars: count_dollars(text),
        in_formula: false,
    };
    while lexer.at < text.len() {
        lexer.step()?;
    }
    lexer.fonts.is_empty().then_some(lexer.tokens)
}

/// Dollar signs without a backslash.
fn count_dollars(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_bare = |at: &usize| *at == 0 || bytes[at - 1] != b'\\';
    memchr::memchr_iter(b'$', bytes).filter(is_bare).count()
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token<'a>>,
    /// The open braces: what each of them opened.
    fonts: Vec<Brace>,
    /// How many of them are upright fonts.
    upright: usize,
    /// Bare dollar signs in the text: one is a currency sign, two enclose a formula.
    dollars: usize,
    in_formula: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Brace {
    Group,
    Font { upright: bool },
}

impl<'a> Lexer<'a> {
    /// Reads one token or skips what means nothing.
    fn step(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let first = *rest.as_bytes().first()?;
        if first.is_ascii_digit() {
            let digits = self.take(u8::is_ascii_digit);
            self.tokens.push(Token::Digits(digits));
            return Some(());
        }
        if first.is_ascii_alphabetic() {
            let letters = self.take(u8::is_ascii_alphabetic);
            let upright = self.upright > 0;
            self.tokens.push(Token::Word { letters, upright });
            return Some(());
        }
        match first {
            b'\\' => return self.command(),
            b'{' if rest.starts_with("{,}") => {
                self.at += 2;
                self.tokens.push(Token::Comma);
            }
            b'{' => {
                self.fonts.push(Brace::Group);
                self.tokens.push(Token::OpenBrace);
            }
            b'}' => self.close_brace()?,
            b'$' => self.dollar()?,
            b'~' => self.space(),
            _ if first.is_ascii_whitespace() => self.space(),
            _ => self.tokens.push(sign(first)?),
        }
        self.at += 1;
        Some(())
    }

    /// The run of bytes that `accepts`.
    fn take(&mut self, accepts: fn(&u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(accepts).count();
        self.at += length;
        &rest[..length]
    }

    fn space(&mut self) {
        if self.tokens.last() != Some(&Token::Space) {
            self.tokens.push(Token::Space);
        }
    }

    fn close_brace(&mut self) -> Option<()> {
        match self.fonts.pop()? {
            Brace::Group => self.tokens.push(Token::CloseBrace),
            Brace::Font { upright: true } => {
                self.upright -= 1;
                self.space();
            }
            Brace::Font { upright: false } => {}
        }
        Some(())
    }

    fn dollar(&mut self) -> Option<()> {
        match (self.dollars, self.in_formula) {
            (1, _) => self.tokens.push(Token::Currency("dollar")),
            (2, false) if self.tokens.is_empty() => self.in_formula = true,
            (2, true) => self.tokens.push(Token::FormulaEnd),
            _ => return None,
        }
        Some(())
    }

    /// A backslash and what belongs to it.
    fn command(&mut self) -> Option<()> {
        self.at += 1;
        let name = self.take(u8::is_ascii_alphabetic);
        if name.is_empty() {
            let symbol = *self.text.as_bytes().get(self.at)?;
            self.at += 1;
            return self.symbol(symbol);
        }
        match name {
            "left" | "right" | "mleft" | "mright" => {
                let is_invisible = self.text[self.at..].trim_start().starts_with('.');
                return (!is_invisible).then_some(());
            }
            "displaystyle" | "textstyle" | "big" | "Big" => {}
            "quad" | "qquad" | "thinspace" | "enspace" => self.space(),
            "text" | "textrm" | "textbf" | "textit" | "textnormal" | "mathrm" | "mbox" | "hbox" => {
                return self.font(true);
            }
            "operatorname" | "mathbf" | "mathit" | "mathsf" | "boldsymbol" => {
                return self.font(false);
            }
            _ => self.tokens.push(named(name)?),
        }
        Some(())
    }

    fn font(&mut self, upright: bool) -> Option<()> {
        self.take(u8::is_ascii_whitespace);
        let has_brace = self.text[self.at..].starts_with('{');
        self.at += 1;
        self.fonts.push(Brace::Font { upright });
        if upright {
            self.upright += 1;
            self.space();
        }
        has_brace.then_some(())
    }

    /// A backslash and one character that is not a letter.
    fn symbol(&mut self, symbol: u8) -> Option<()> {
        match symbol {
            b',' | b';' | b':' | b' ' => self.space(),
            b'!' => {
                self.take(u8::is_ascii_whitespace);
            }
            b'%' => self.tokens.push(Token::Percent),
            b'$' => self.tokens.push(Token::Currency("dollar")),
            b'(' | b'[' if self.tokens.is_empty() => {}
            b')' | b']' => self.tokens.push(Token::FormulaEnd),
            _ => return None,
        }
        Some(())
    }
}

/// The token of a single character.
fn sign(byte: u8) -> Option<Token<'static>> {
    Some(match byte {
        b'.' => Token::Point,
        b',' => Token::Comma,
        b'+' => Token::Plus,
        b'-' => Token::Minus,
        b'/' => Token::Slash,
        b'*' => Token::Times,
        b'^' => Token::Caret,
        b'(' => Token::OpenParen,
        b')' => Token::CloseParen,
        b'%' => Token::Percent,
        b'=' => Token::Equals,
        _ => return None,
    })
}

/// The token of a named command.
fn named(name: &str) -> Option<Token<'static>> {
    Some(match name {
        "frac" | "dfrac" | "tfrac" | "cfrac" => Token::Fraction,
        "times" | "cdot" | "ast" => Token::Times,
        "approx" | "simeq" => Token::Approx,
        "circ" | "degree" => Token::Degree,
        "euro" => Token::Currency("euro"),
        "pounds" => Token::Currency("gbp"),
        "yen" => Token::Currency("yen"),
        "rupee" => Token::Currency("rupee"),
        "won" => Token::Currency("won"),
        _ => return None,
    })
}
