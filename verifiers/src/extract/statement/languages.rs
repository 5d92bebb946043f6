//! Statements in languages other than English: that there is no solution, named extrema, Chinese numerals.

use std::ops::Range;

use super::super::trim;
use super::pieces::{Piece, PieceKind};
use super::{Reader, words};

/// Units and words that stand behind a number of things in Chinese, longer ones before their parts.
const MEASURES: &[&str] = &[
    "小时",
    "分钟",
    "秒钟",
    "个月",
    "星期",
    "千米",
    "公里",
    "厘米",
    "分米",
    "毫米",
    "千克",
    "公斤",
    "毫升",
    "平方米",
    "立方米",
    "秒",
    "天",
    "日",
    "周",
    "月",
    "年",
    "岁",
    "米",
    "克",
    "吨",
    "元",
    "度",
    "升",
    "个",
    "种",
    "只",
    "人",
    "名",
    "次",
    "条",
    "本",
    "张",
    "棵",
    "块",
    "辆",
    "页",
    "题",
    "件",
    "位",
    "组",
    "对",
    "支",
    "枝",
    "匹",
    "间",
    "层",
    "盒",
    "箱",
    "袋",
    "杯",
    "瓶",
    "朵",
    "颗",
    "把",
    "双",
    "套",
    "株",
    "艘",
    "架",
    "道",
    "倍",
    "枚",
    "顶",
];

/// Returns the numeral with its unit or classifier that a Chinese text states last: `六天` of "需要六天完成".
pub(in crate::extract) fn chinese_number(text: &str, span: &Range<usize>) -> Option<Range<usize>> {
    let inner = &text[span.clone()];
    let is_numeral = |c: char| c > '\u{3000}' && "零〇一二两三四五六七八九十百千万".contains(c);
    // "三次函数" and "二元一次方程" count nothing.
    let is_term = |measure: &str, rest: &str| match measure {
        "元" => rest.starts_with(['一', '二', '三', '次']),
        "次" => rest.starts_with(['函', '方', '项', '式', '曲', '多', '根', '幂', '不', '型']),
        _ => false,
    };
    let mut found = None;
    let mut at = 0;
    while let Some(start) = inner[at..].find(is_numeral).map(|start| at + start) {
        let length = inner[start..].find(|c: char| !is_numeral(c)).unwrap_or(inner.len() - start);
        let end = start + length;
        let rest = &inner[end..];
        at = end;
        let measure = MEASURES.iter().find(|measure| rest.starts_with(**measure));
        // "一个" is an article as often as a number.
        let is_article = &inner[start..end] == "一";
        // The "千" of "4000千克".
        let is_article = is_article || inner[start..].starts_with(['千', '百', '万']);
        if let Some(measure) =
            measure.filter(|measure| !is_article && !is_term(measure, &rest[measure.len()..]))
        {
            found = Some(span.start + start..span.start + end + measure.len());
        }
    }
    found
}

impl Reader<'_> {
    /// Returns the Chinese numeral of a sentence behind its last value.
    pub(super) fn chinese_amount(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        let (first, last) = (sentence.first()?, sentence.last()?);
        let from = sentence.iter().rfind(|piece| piece.is_value());
        let from = from.map_or(first.span.start, |value| value.span.end);
        chinese_number(self.text, &(from..last.span.end))
    }

    /// Returns the words of a sentence that say that there is no solution.
    pub(super) fn nothing_said(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        self.absence(sentence)
            .or_else(|| self.english_absence(sentence))
            .or_else(|| self.missing_subject(sentence))
            .or_else(|| self.divergence(sentence))
    }

    /// Returns the predicate of a sentence without a value that says that what was computed diverges: "The integral
    /// **diverges**, because its interval is unbounded".
    fn divergence(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        const SUBJECTS: [&str; 6] = ["integral", "series", "sum", "sequence", "limit", "it"];
        let said = |piece: &Piece| self.is_word(Some(piece), &["diverges", "divergent"]);
        let at = sentence.iter().position(said)?;
        // A display may stand before the line.
        let is_break = |piece: &Piece| matches!(piece.kind, PieceKind::Break { .. });
        let from = sentence[..at].iter().rposition(is_break).map_or(0, |line| line + 1);
        let before = || sentence[from..at].iter().filter(|piece| !piece.is_mark('*'));
        // "diverges to infinity"
        let mut after = sentence[at + 1..].iter().filter(|piece| !piece.is_mark('*'));
        if self.is_word(after.next(), &["to"]) {
            return None;
        }
        let is_asked = before().rev().take(2).any(|piece| self.is_word(Some(piece), &SUBJECTS));
        let opens = before().take(3).any(|piece| self.is_word(Some(piece), &SUBJECTS));
        let is_beside = before().any(|piece| {
            piece.is_value()
                || self.is_word(
                    Some(piece),
                    &["if", "when", "while", "whereas", "although", "otherwise"],
                )
                || self.is_word(Some(piece), &words::DENYING)
        });
        (is_asked && opens && !is_beside).then(|| sentence[at].span.clone())
    }

    /// Returns the words "does not exist" that end a sentence whose last clause is about what was asked for: "the left
    /// limit is 2, but the limit does not exist".
    fn missing_subject(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        const SUBJECTS: [&str; 7] =
            ["limit", "limits", "inverse", "derivative", "integral", "solution", "solutions"];
        // Clauses of reasons and conditions, and of other things than what was asked for.
        const BESIDE: [&str; 13] = [
            "since", "because", "as", "for", "if", "when", "where", "which", "whose", "other",
            "larger", "smaller", "second",
        ];
        let end = sentence.iter().rposition(|piece| piece.kind == PieceKind::Word)?;
        if !self.is_word(sentence.get(end), &["exist"]) {
            return None;
        }
        let is_denial = |at: usize| self.is_word(sentence.get(at), &["not"]);
        let verb = end.checked_sub(2).filter(|_| is_denial(end - 1));
        let verb =
            verb.filter(|at| self.is_word(sentence.get(*at), &["does", "do"])).or_else(|| {
                let at = end.checked_sub(1)?;
                self.is_word(sentence.get(at), &["doesn't", "doesn’t", "don't"]).then_some(at)
            })?;
        let start = sentence[..verb].iter().rposition(|piece| {
            piece.is_mark(',') || piece.is_mark(';') || self.is_word(Some(piece), &["but", "so"])
        })?;
        let clause = &sentence[start + 1..verb];
        let is_asked = self.is_word(clause.last(), &SUBJECTS);
        let is_beside = clause.iter().any(|piece| self.is_word(Some(piece), &BESIDE));
        (is_asked && !is_beside).then(|| sentence[verb].span.start..sentence[end].span.end)
    }

    /// Returns the words of a sentence that say that there is no solution, behind its last value.
    fn absence(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        // Other scripts have no words in the list.
        let may_deny = |piece: &Piece| {
            self.is_word(Some(piece), &words::DENYING_ABROAD)
                || self.word(piece).is_some_and(|word| word.starts_with(|c: char| c > '\u{5FF}'))
        };
        if !sentence.iter().any(may_deny) {
            return None;
        }
        let is_value = |piece: &&Piece| {
            let text = &self.text[piece.span.clone()];
            piece.is_value() && !text.contains("\\mathbb") && !text.contains(['ℝ', 'ℚ', 'ℤ', 'ℕ'])
        };
        // What follows a reason says nothing of the answer: ", denn $D < 0$".
        let reason = sentence.iter().position(|piece| {
            self.is_word(Some(piece), &words::REASONING)
                || self.text[piece.span.start..].starts_with("因为")
        });
        let sentence = &sentence[..reason.filter(|at| *at > 0).unwrap_or(sentence.len())];
        let from = sentence.iter().rposition(|piece| is_value(&piece)).map_or(0, |last| last + 1);
        // What is said beside the names of sets of numbers, and behind the head of a line.
        let mut said = sentence[from..]
            .split(|piece| piece.is_value() || piece.is_mark(':') || piece.is_mark('：'));
        said.find_map(|said| {
            let words = trim::clean(self.text, said.first()?.span.start..said.last()?.span.end);
            let bare = self.text[words.clone()].trim_matches(['*', '_', ' ']);
            maths::says_no_solution(bare).then(|| trim::range_in(self.text, bare))
        })
    }

    /// Returns the words of a sentence that say that nothing is such: "no ordered pair" of "no ordered pair $(x, y)$
    /// satisfies both equations".
    fn english_absence(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        /// Pieces between the denial and the verb.
        const MAX_PIECES: usize = 7;
        const VERBS: [&str; 13] = [
            "satisfies",
            "satisfy",
            "satisfying",
            "such",
            "solves",
            "solve",
            "solving",
            "for",
            "that",
            "exists",
            "exist",
            "works",
            "with",
        ];
        const OTHERS: [&str; 5] = ["other", "others", "more", "further", "additional"];
        const TURNING: [&str; 6] = ["only", "except", "unless", "but", "besides", "however"];
        let at = sentence.iter().rposition(|piece| self.is_word(Some(piece), &["no"]))?;
        let before = sentence[..at].iter().rfind(|piece| !piece.is_mark('*'));
        let opens = before.is_none_or(|piece| {
            matches!(piece.kind, PieceKind::Mark(',' | ':' | ';' | '—') | PieceKind::Break { .. })
                || self.is_word(Some(piece), &["is", "are", "exist", "exists", "that"])
                || self.is_word(Some(piece), &words::CONCLUDING)
        });
        let rest = &sentence[at + 1..];
        let said = rest.iter().take(MAX_PIECES);
        let verb = said.clone().position(|piece| self.is_word(Some(piece), &VERBS))?;
        let is_subject = |piece: &Piece| {
            piece.kind == PieceKind::Word && !self.is_word(Some(piece), &OTHERS)
                || piece.is_value() && self.is_name(piece)
                || piece.is_mark('*')
        };
        let nouns = rest[..verb].iter().take_while(|piece| !piece.is_value()).count();
        let is_link = |piece: &&Piece| self.is_word(Some(piece), &["of", "for", "in", "with"]);
        let nouns = nouns - rest[..nouns].iter().rev().take_while(is_link).count();
        let turns = rest.iter().any(|piece| {
            self.is_word(Some(piece), &words::CONCLUDING) || self.is_word(Some(piece), &TURNING)
        });
        // "…, and the range is $(0, \infty)$"
        let goes_on = rest[verb..].windows(2).any(|two| {
            self.is_word(two.first(), &["is", "are", "equals"])
                && two[1].is_value()
                && !self.is_name(&two[1])
        });
        let turns = turns || goes_on;
        let is_said = opens && nouns > 0 && rest[..verb].iter().all(is_subject) && !turns;
        let span = sentence[at].span.start..rest[nouns.max(1) - 1].span.end;
        // "No larger value satisfies it" leaves the value before it standing.
        (is_said && maths::says_none(&self.text[span.clone()])).then_some(span)
    }

    /// Returns the Chinese predicate behind the last value: `奇函数` of "所以 $f(x)$ 是奇函数".
    pub(super) fn chinese_predicate(&self, sentence: &[Piece]) -> Option<Range<usize>> {
        /// Letters of the longest predicate.
        const MAX_LETTERS: usize = 8;
        let last = sentence.last()?.span.end;
        let from = sentence.iter().rfind(|piece| piece.is_value())?.span.end;
        let said = self.text[from..last].trim_start_matches(['$', ' ']);
        let words = said.strip_prefix(['是', '为'])?.trim();
        let is_chinese = |c: char| ('\u{4E00}'..='\u{9FFF}').contains(&c);
        let is_short = (2..=MAX_LETTERS).contains(&words.chars().count());
        (is_short && words.chars().all(is_chinese)).then(|| trim::range_in(self.text, words))
    }

    /// Returns the maximum and the minimum that a sentence names in any language, each with its value: `最小值为
    /// $-2$`.
    pub(super) fn extrema(&self, sentence: &[Piece]) -> Option<Vec<Range<usize>>> {
        let (start, end) = (sentence.first()?.span.start, sentence.last()?.span.end);
        let names = maths::extremum_names(&self.text[start..end]);
        let mut found: Vec<(&str, Range<usize>)> = Vec::new();
        for (index, (name, english)) in names.iter().enumerate() {
            let until = names.get(index + 1).map_or(end, |(next, _)| start + next.start);
            let from = start + name.end;
            let is_inside = |piece: &&Piece| {
                piece.is_value() && from <= piece.span.start && piece.span.end <= until
            };
            let value = sentence.iter().find(is_inside).filter(|value| {
                // "a maximum, f = 0" names no value.
                !self.text[from..value.span.start].contains([',', '，', '(', '（', ')'])
            });
            if let Some(value) = value {
                found.push((*english, start + name.start..value.span.end));
            }
        }
        let is_pair = matches!(found.as_slice(), [(first, _), (second, _)] if first != second);
        is_pair.then(|| found.into_iter().map(|(_, span)| span).collect())
    }
}
