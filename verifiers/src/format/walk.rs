//! One pass over the tags of a response, stopping at the first violation.

use regex::Regex;

use super::TagRules;

/// A violation of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    Missing,
    Repeated,
    Unclosed,
    Unopened,
    Nested,
    Order,
    Empty,
    NotFollowed,
    Outside,
}

impl Broken {
    /// Returns the reason code.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Missing => "tag_missing",
            Self::Repeated => "tag_repeated",
            Self::Unclosed => "tag_unclosed",
            Self::Unopened => "tag_unopened",
            Self::Nested => "tag_nested",
            Self::Order => "tag_order",
            Self::Empty => "tag_empty",
            Self::NotFollowed => "tag_not_followed",
            Self::Outside => "text_outside",
        }
    }
}

/// The first rule that a response breaks, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) rule: Broken,
    /// The byte offset where it shows.
    at: usize,
    /// The tag of the rule; 0 for text outside of tags.
    tag: usize,
}

impl Violation {
    /// Describes the violation in a sentence.
    pub(super) fn detail(&self, rules: &TagRules) -> String {
        let name = rules.tags[self.tag].name.as_str();
        let at = self.at;
        match self.rule {
            Broken::Missing => format!("no <{name}> block in {at} bytes"),
            Broken::Repeated => format!("a second <{name}> block at byte {at}"),
            Broken::Unclosed => format!("<{name}> opened at byte {at} is never closed"),
            Broken::Unopened => format!("</{name}> at byte {at} closes nothing"),
            Broken::Nested => format!("<{name}> at byte {at} opens inside another block"),
            Broken::Order => format!("<{name}> at byte {at} comes after a later tag"),
            Broken::Empty => format!("the <{name}> block that ends at byte {at} is empty"),
            Broken::NotFollowed => format!("<{name}> must open at byte {at}"),
            Broken::Outside => format!("text outside the blocks at byte {at}"),
        }
    }
}

/// State of the walk.
struct Walk<'r> {
    rules: &'r TagRules,
    /// Blocks opened so far, by tag.
    blocks: Vec<usize>,
    /// The largest index among the required tags opened so far.
    furthest: usize,
    /// The open block and where its content starts.
    open: Option<(usize, usize)>,
    /// End of the last tag.
    end: usize,
    /// The tag that must open next.
    owed: Option<usize>,
}

/// Returns the first violation in the order of the text; a missing tag shows at its end.
pub(super) fn first_violation(rules: &TagRules, scanner: &Regex, text: &str) -> Option<Violation> {
    Walk::new(rules).run(scanner, text).err()
}

impl<'r> Walk<'r> {
    fn new(rules: &'r TagRules) -> Self {
        let mut blocks = vec![0; rules.tags.len()];
        let open = rules.starts_in.map(|tag| (tag, 0));
        if let Some(tag) = rules.starts_in {
            blocks[tag] = 1;
        }
        let furthest = rules.starts_in.filter(|&tag| rules.tags[tag].required).unwrap_or(0);
        Self { rules, blocks, furthest, open, end: 0, owed: None }
    }

    fn run(mut self, scanner: &Regex, text: &str) -> Result<(), Violation> {
        for found in scanner.find_iter(text) {
            let name = found.as_str().trim_matches(['<', '/', '>']);
            let tag = self.rules.find(name).expect("the scanner knows these tags");
            if found.as_str().starts_with("</") {
                self.close(text, tag, found.start())?;
            } else {
                self.open(text, tag, found.range())?;
            }
            self.end = found.end();
        }
        self.finish(text)
    }

    fn open(
        &mut self,
        text: &str,
        tag: usize,
        range: std::ops::Range<usize>,
    ) -> Result<(), Violation> {
        let rule = &self.rules.tags[tag];
        let violation = |rule| Err(broken(rule, range.start, tag));
        if self.open.is_some() {
            return violation(Broken::Nested);
        }
        self.check_between(text, range.start, Some(tag))?;
        if self.blocks[tag] > 0 && !rule.repeatable {
            return violation(Broken::Repeated);
        }
        if rule.required {
            if self.rules.ordered && tag < self.furthest {
                return violation(Broken::Order);
            }
            self.furthest = self.furthest.max(tag);
        }
        self.blocks[tag] += 1;
        self.open = Some((tag, range.end));
        Ok(())
    }

    fn close(&mut self, text: &str, tag: usize, at: usize) -> Result<(), Violation> {
        let Some((_, start)) = self.open.filter(|&(open, _)| open == tag) else {
            return Err(broken(Broken::Unopened, at, tag));
        };
        if self.rules.nonempty && text[start..at].trim().is_empty() {
            return Err(broken(Broken::Empty, at, tag));
        }
        self.open = None;
        self.owed = self.rules.tags[tag].followed_by;
        Ok(())
    }

    /// Checks the text between the last tag and `until`, where `next` opens or the text ends.
    fn check_between(
        &mut self,
        text: &str,
        until: usize,
        next: Option<usize>,
    ) -> Result<(), Violation> {
        let between = &text[self.end..until];
        let at = self.end + (between.len() - between.trim_start().len());
        if let Some(owed) = self.owed.take()
            && (next != Some(owed) || at < until)
        {
            return Err(broken(Broken::NotFollowed, at, owed));
        }
        if self.rules.nothing_outside && at < until {
            return Err(broken(Broken::Outside, at, 0));
        }
        Ok(())
    }

    fn finish(mut self, text: &str) -> Result<(), Violation> {
        if let Some((tag, start)) = self.open {
            // The prompt opened the block that starts at 0; there is no tag before it.
            let tag_len = self.rules.tags[tag].name.len() + "<>".len();
            return Err(broken(Broken::Unclosed, start.saturating_sub(tag_len), tag));
        }
        self.check_between(text, text.len(), None)?;
        let missing = |tag: usize| self.rules.tags[tag].required && self.blocks[tag] == 0;
        match (0..self.blocks.len()).find(|&tag| missing(tag)) {
            Some(tag) => Err(broken(Broken::Missing, text.len(), tag)),
            None => Ok(()),
        }
    }
}

fn broken(rule: Broken, at: usize, tag: usize) -> Violation {
    Violation { rule, at, tag }
}
