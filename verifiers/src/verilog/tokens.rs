//! Tokens of Verilog, in the form that a scan for forbidden ones needs.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerilogTokenKind {
    /// A name or a keyword; an escaped name with its backslash.
    Name,
    /// `$name`, or `$` alone.
    System,
    /// `` `name ``, or a backtick that no name follows.
    Directive,
    /// A number, with its base if it has one.
    Number,
    /// A string with its quotes.
    Text,
    /// One character of anything else.
    Symbol,
}

/// A token and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VerilogToken<'t> {
    pub(super) kind: VerilogTokenKind,
    pub(super) text: &'t str,
    /// Its first byte.
    pub(super) start: usize,
    /// Its line, from 1; lines that a backslash joins are one.
    pub(super) line: usize,
}

impl VerilogToken<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text && self.kind != VerilogTokenKind::Text
    }

    pub(super) fn is_name(&self) -> bool {
        self.kind == VerilogTokenKind::Name
    }
}

/// Splits a text into tokens, without comments.
///
/// Where the preprocessor of Icarus may read a text in another way than this function does, so that
/// code here would be a comment or a string there or the reverse, the text is refused.
///
/// # Errors
/// The place and what is wrong there.
pub(super) fn tokens(text: &str) -> Result<Vec<VerilogToken<'_>>, String> {
    let mut reader = TokenReader { text, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = reader.token()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct TokenReader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'t> TokenReader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, what: &str) -> Result<T, String> {
        let line = self.text[..self.at].matches('\n').count() + 1;
        Err(format!("line {line}: {what}"))
    }

    /// Passes over spaces and comments.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let length = if rest.starts_with("\\\n") {
                2
            } else if rest.starts_with("\\\r\n") {
                3
            } else if rest.starts_with("//") {
                self.comment(rest.find('\n').unwrap_or(rest.len()))?
            } else if let Some(comment) = rest.strip_prefix("/*") {
                match comment.find("*/") {
                    None => return self.fail("a comment does not end"),
                    Some(end) => self.comment(end + 4)?,
                }
            } else {
                let spaces = rest.len() - rest.trim_ascii_start().len();
                if spaces == 0 {
                    return Ok(());
                }
                self.line += rest[..spaces].matches('\n').count();
                spaces
            };
            self.at += length;
        }
    }

    /// A comment of this length, which must not hide the end of a part that is left out.
    fn comment(&mut self, length: usize) -> Result<usize, String> {
        let text = &self.rest()[..length];
        if ["`endif", "`else", "`elsif", "`if"].iter().any(|word| text.contains(word)) {
            return self.fail("a comment holds a directive");
        }
        self.line += text.matches('\n').count();
        Ok(length)
    }

    fn token(&mut self) -> Result<Option<VerilogToken<'t>>, String> {
        self.skip()?;
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let Some(&first) = bytes.first() else { return Ok(None) };
        let words =
            |from: usize| from + bytes[from..].iter().take_while(|byte| is_word(**byte)).count();
        let (kind, length) = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => (VerilogTokenKind::Name, words(0)),
            b'$' => (VerilogTokenKind::System, words(1)),
            b'`' => (VerilogTokenKind::Directive, words(1)),
            b'0'..=b'9' | b'\'' => (VerilogTokenKind::Number, number(bytes)),
            b'"' => (VerilogTokenKind::Text, self.string(bytes)?),
            b'\\' => {
                let length = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
                if rest[..length].contains(['/', '"', '`', '*']) || !rest[..length].is_ascii() {
                    return self.fail("an escaped name has a character that is not read here");
                }
                (VerilogTokenKind::Name, length)
            }
            0x21..=0x7e => (VerilogTokenKind::Symbol, 1),
            _ => return self.fail("a character is none of Verilog's"),
        };
        let token = VerilogToken { kind, text: &rest[..length], start: self.at, line: self.line };
        self.at += length;
        Ok(Some(token))
    }

    fn string(&self, bytes: &[u8]) -> Result<usize, String> {
        let mut at = 1;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => return Ok(at + 1),
                b'\n' => break,
                b'`' => return self.fail("a string holds a backtick"),
                b'\\' => at += 1,
                _ => {}
            }
            at += 1;
        }
        self.fail("a string does not end in its line")
    }
}

/// The length of `8'hff`, `'b0`, `1.5e3`, `10` or of a lone `'`.
fn number(bytes: &[u8]) -> usize {
    let digits = |from: usize, also: &[u8]| {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'_' || also.contains(byte);
        from + bytes[from..].iter().take_while(|byte| is_digit(byte)).count()
    };
    let mut at = digits(0, b"");
    if bytes.get(at) == Some(&b'\'') {
        let signed = usize::from(matches!(bytes.get(at + 1), Some(b's' | b'S')));
        return match bytes.get(at + 1 + signed).map(u8::to_ascii_lowercase) {
            Some(b'b' | b'o' | b'd' | b'h') => digits(at + 2 + signed, b"abcdefxzABCDEFXZ?"),
            Some(b'0' | b'1' | b'x' | b'z') if at == 0 && signed == 0 => 2,
            // A cast, or the beginning of a pattern.
            _ => at.max(1),
        };
    }
    if bytes.get(at) == Some(&b'.') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        at = digits(at + 1, b"");
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign, b"");
        if end > at + 1 + sign {
            at = end;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_without_comments() {
        for (text, expected) in [
            ("a/*b*/c//d\ne", "a c e"),
            ("assign y=8'hF_f+2.5e3;", "assign y = 8'hF_f + 2.5e3 ;"),
            ("x.y 4'sb1x0 '0 '{", "x . y 4'sb1x0 '0 ' {"),
            ("\\a+b $clog2(W)", "\\a+b $clog2 ( W )"),
            ("`define W 8 \\\n 9", "`define W 8 9"),
            ("\"a // \\\" b\" c", "\"a // \\\" b\" c"),
            ("$ ` @(*)", "$ ` @ ( * )"),
            ("8 'hff", "8 'hff"),
            // What is refused.
            ("a /* b", "line 1: a comment does not end"),
            ("\n\"a", "line 2: a string does not end in its line"),
            ("\"a`endif\"", "line 1: a string holds a backtick"),
            ("\\/* x", "line 1: an escaped name has a character that is not read here"),
            ("// `endif\n", "line 1: a comment holds a directive"),
            ("é", "line 1: a character is none of Verilog's"),
            ("\0", "line 1: a character is none of Verilog's"),
        ] {
            let found = match tokens(text) {
                Err(error) => error,
                Ok(tokens) => tokens.iter().map(|token| token.text).collect::<Vec<_>>().join(" "),
            };
            assert_eq!(found, expected, "{text}");
        }
    }
}
