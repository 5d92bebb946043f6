//! Wordings of one answer in words, of several languages.

/// Each wording, case folded, with the one that stands for all.
pub(super) const WORDINGS: &[(&str, &str)] = &[
    ("dne", "does not exist"),
    ("d.n.e", "does not exist"),
    ("doesn't exist", "does not exist"),
    ("limit does not exist", "does not exist"),
    ("no limit", "does not exist"),
    ("no solutions", "no solution"),
    ("there is no solution", "no solution"),
    ("there are no solutions", "no solution"),
    ("there exists no solution", "no solution"),
    ("no solution exists", "no solution"),
    ("no solutions exist", "no solution"),
    ("empty set", "no solution"),
    ("\\emptyset", "no solution"),
    ("\\varnothing", "no solution"),
    ("∅", "no solution"),
    ("\\{\\}", "no solution"),
    ("no real solution", "no solution"),
    ("no real solutions", "no solution"),
    ("there is no real solution", "no solution"),
    ("there are no real solutions", "no solution"),
    ("no real solution exists", "no solution"),
    ("no real solutions exist", "no solution"),
    ("no real root", "no solution"),
    ("no real roots", "no solution"),
    ("solution set is empty", "no solution"),
    ("empty", "no solution"),
    ("none", "no solution"),
    ("unique solution", "exactly one solution"),
    ("one solution", "exactly one solution"),
    ("only one solution", "exactly one solution"),
    ("precisely one solution", "exactly one solution"),
    ("there are no real roots", "no solution"),
    ("无解", "no solution"),
    ("無解", "no solution"),
    ("没有解", "no solution"),
    ("解なし", "no solution"),
    ("해가 없다", "no solution"),
    ("нет решений", "no solution"),
    ("решений нет", "no solution"),
    ("keine lösung", "no solution"),
    ("keine lösungen", "no solution"),
    ("pas de solution", "no solution"),
    ("aucune solution", "no solution"),
    ("no hay solución", "no solution"),
    ("sin solución", "no solution"),
    ("não há solução", "no solution"),
    ("sem solução", "no solution"),
    ("nessuna soluzione", "no solution"),
    ("لا يوجد حل", "no solution"),
    ("कोई हल नहीं", "no solution"),
    ("无实数解", "no solution"),
    ("keine reelle lösung", "no solution"),
    ("pas de solution réelle", "no solution"),
    ("no hay solución real", "no solution"),
    ("нет действительных решений", "no solution"),
    ("不存在", "does not exist"),
    ("existiert nicht", "does not exist"),
    ("n'existe pas", "does not exist"),
    ("no existe", "does not exist"),
    ("não existe", "does not exist"),
    ("не существует", "does not exist"),
    ("存在しない", "does not exist"),
    ("لا يوجد", "does not exist"),
    ("偶数", "even"),
    ("偶函数", "even"),
    ("gerade", "even"),
    ("pair", "even"),
    ("paire", "even"),
    ("par", "even"),
    ("чётная", "even"),
    ("четная", "even"),
    ("чётное", "even"),
    ("четное", "even"),
    ("чётный", "even"),
    ("زوجي", "even"),
    ("सम", "even"),
    ("奇数", "odd"),
    ("奇函数", "odd"),
    ("ungerade", "odd"),
    ("impair", "odd"),
    ("impaire", "odd"),
    ("impar", "odd"),
    ("ímpar", "odd"),
    ("нечётная", "odd"),
    ("нечетная", "odd"),
    ("нечётное", "odd"),
    ("нечетное", "odd"),
    ("فردي", "odd"),
    ("विषम", "odd"),
    ("星期一", "monday"),
    ("周一", "monday"),
    ("月曜日", "monday"),
    ("montag", "monday"),
    ("lundi", "monday"),
    ("lunes", "monday"),
    ("segunda-feira", "monday"),
    ("понедельник", "monday"),
    ("星期二", "tuesday"),
    ("周二", "tuesday"),
    ("火曜日", "tuesday"),
    ("dienstag", "tuesday"),
    ("mardi", "tuesday"),
    ("martes", "tuesday"),
    ("terça-feira", "tuesday"),
    ("вторник", "tuesday"),
    ("星期三", "wednesday"),
    ("周三", "wednesday"),
    ("水曜日", "wednesday"),
    ("mittwoch", "wednesday"),
    ("mercredi", "wednesday"),
    ("miércoles", "wednesday"),
    ("quarta-feira", "wednesday"),
    ("среда", "wednesday"),
    ("星期四", "thursday"),
    ("周四", "thursday"),
    ("木曜日", "thursday"),
    ("donnerstag", "thursday"),
    ("jeudi", "thursday"),
    ("jueves", "thursday"),
    ("quinta-feira", "thursday"),
    ("четверг", "thursday"),
    ("星期五", "friday"),
    ("周五", "friday"),
    ("金曜日", "friday"),
    ("freitag", "friday"),
    ("vendredi", "friday"),
    ("viernes", "friday"),
    ("sexta-feira", "friday"),
    ("пятница", "friday"),
    ("星期六", "saturday"),
    ("周六", "saturday"),
    ("土曜日", "saturday"),
    ("samstag", "saturday"),
    ("samedi", "saturday"),
    ("sábado", "saturday"),
    ("суббота", "saturday"),
    ("星期日", "sunday"),
    ("星期天", "sunday"),
    ("周日", "sunday"),
    ("日曜日", "sunday"),
    ("sonntag", "sunday"),
    ("dimanche", "sunday"),
    ("domingo", "sunday"),
    ("воскресенье", "sunday"),
    ("收敛", "converges"),
    ("konvergiert", "converges"),
    ("converge", "converges"),
    ("сходится", "converges"),
    ("收束する", "converges"),
    ("konvergiert nicht", "diverges"),
    ("ne converge pas", "diverges"),
    ("no converge", "diverges"),
    ("não converge", "diverges"),
    ("non converge", "diverges"),
    ("не сходится", "diverges"),
    ("不收敛", "diverges"),
    ("収束しない", "diverges"),
    ("发散", "diverges"),
    ("divergiert", "diverges"),
    ("diverge", "diverges"),
    ("расходится", "diverges"),
    ("発散する", "diverges"),
    ("convergent", "converges"),
    ("is convergent", "converges"),
    ("divergent", "diverges"),
    ("is divergent", "diverges"),
    ("neither even nor odd", "neither"),
    ("conditionally convergent", "converges conditionally"),
    ("conditional convergence", "converges conditionally"),
    ("converges, but not absolutely", "converges conditionally"),
    ("converges but not absolutely", "converges conditionally"),
    ("absolutely convergent", "converges absolutely"),
    ("absolute convergence", "converges absolutely"),
    ("uniformly convergent", "converges uniformly"),
    ("pointwise convergent", "converges pointwise"),
    ("undefined", "does not exist"),
    ("no tiene solución", "no solution"),
    ("no tiene soluciones", "no solution"),
    ("no tiene soluciones reales", "no solution"),
    ("não tem solução", "no solution"),
    ("não tem soluções", "no solution"),
    ("não tem soluções reais", "no solution"),
    ("não possui soluções reais", "no solution"),
    ("n'a pas de solution", "no solution"),
    ("n'a aucune solution", "no solution"),
    ("n'admet pas de solution", "no solution"),
    ("n'admet aucune solution", "no solution"),
    ("n'a pas de solution réelle", "no solution"),
    ("hat keine lösung", "no solution"),
    ("hat keine lösungen", "no solution"),
    ("keine reellen lösungen", "no solution"),
    ("hat keine reellen lösungen", "no solution"),
    ("non ha soluzioni", "no solution"),
    ("non ha soluzioni reali", "no solution"),
    ("не имеет решений", "no solution"),
    ("не имеет действительных решений", "no solution"),
    ("解を持たない", "no solution"),
    ("실근이 없다", "no solution"),
    ("ninguna", "no solution"),
    ("aucune", "no solution"),
    ("keine", "no solution"),
    ("nessuna", "no solution"),
    ("convergente", "converges"),
    ("konvergent", "converges"),
    ("divergente", "diverges"),
    ("infinite", "infinitely many"),
    ("an infinite number", "infinitely many"),
    ("infinite number", "infinitely many"),
    ("\\infty", "infinitely many"),
    ("∞", "infinitely many"),
    ("无穷多", "infinitely many"),
    ("无穷多个", "infinitely many"),
    ("无穷多解", "infinitely many"),
    ("无穷多个解", "infinitely many"),
    ("有无穷多解", "infinitely many"),
    ("有无穷多个解", "infinitely many"),
    ("无数个", "infinitely many"),
    ("无数解", "infinitely many"),
    ("无数个解", "infinitely many"),
    ("無数", "infinitely many"),
    ("無数にある", "infinitely many"),
    ("unendlich viele", "infinitely many"),
    ("unendlich viele lösungen", "infinitely many"),
    ("une infinité", "infinitely many"),
    ("une infinité de solutions", "infinitely many"),
    ("infinité de solutions", "infinitely many"),
    ("infinitas", "infinitely many"),
    ("infinitas soluciones", "infinitely many"),
    ("infinitas soluções", "infinitely many"),
    ("infinidad de soluciones", "infinitely many"),
    ("infinite soluzioni", "infinitely many"),
    ("бесконечно много", "infinitely many"),
    ("бесконечно много решений", "infinitely many"),
    ("عدد لا نهائي من الحلول", "infinitely many"),
    ("अनंत", "infinitely many"),
    ("अनंत हल", "infinitely many"),
    ("doubles", "is doubled"),
    ("double", "is doubled"),
    ("doubled", "is doubled"),
    ("gets doubled", "is doubled"),
    ("becomes twice as large", "is doubled"),
    ("twice as large", "is doubled"),
    ("triples", "is tripled"),
    ("triple", "is tripled"),
    ("tripled", "is tripled"),
    ("three times as large", "is tripled"),
    ("quadruples", "is quadrupled"),
    ("quadruple", "is quadrupled"),
    ("quadrupled", "is quadrupled"),
    ("four times as large", "is quadrupled"),
    ("halves", "is halved"),
    ("halved", "is halved"),
    ("half", "is halved"),
    ("half as large", "is halved"),
    ("half as much", "is halved"),
];

/// Returns the wording of another language that ends `text`, which is a sentence: "no tiene solución".
pub fn last_wording(text: &str) -> Option<&str> {
    /// Bytes of the shortest wording that is looked for.
    const MIN_BYTES: usize = 9;
    let text = text.trim_end_matches(['.', '。', '!', '*', ' ']);
    let start = text.char_indices().rev().nth(40).map_or(0, |(at, _)| at);
    let tail = text[start..].to_lowercase();
    let last = tail.bytes().next_back();
    let known = WORDINGS.iter().map(|(wording, _)| *wording).filter(|wording| {
        if wording.len() < MIN_BYTES || wording.bytes().next_back() != last {
            return false;
        }
        let is_foreign = !wording.is_ascii() || wording.contains(' ');
        let before = tail.strip_suffix(wording).filter(|_| is_foreign);
        before.is_some_and(|before| {
            before.chars().next_back().is_none_or(|c| !c.is_alphabetic() || c >= '\u{3040}')
        })
    });
    let longest = known.max_by_key(|wording| wording.len())?;
    // Small letters are as long as capital ones in these languages.
    text.get(text.len().checked_sub(longest.len())?..)
}

/// Returns what wordings of a number without an end have in common: "infinitely many solutions", "an
/// infinite number of them".
pub(super) fn without_end(words: &str) -> Option<&'static str> {
    let openings =
        ["infinitely many ", "an infinite number of ", "infinite number of ", "infinite "];
    let noun = openings.into_iter().find_map(|opening| words.strip_prefix(opening))?;
    let nouns = [
        "solutions",
        "roots",
        "values",
        "points",
        "zeros",
        "many",
        "real solutions",
        "integer solutions",
        "them",
        "such pairs",
        "pairs",
        "integers",
        "triples",
    ];
    nouns.contains(&noun).then_some("infinitely many")
}

/// What is denied, and the word for its opposite.
const OPPOSITES: [(&str, &str); 19] = [
    ("convergent", "diverges"),
    ("converge", "diverges"),
    ("konvergent", "diverges"),
    ("divergent", "converges"),
    ("diverge", "converges"),
    ("independent", "dependent"),
    ("dependent", "independent"),
    ("linearly independent", "linearly dependent"),
    ("linearly dependent", "linearly independent"),
    ("rational", "irrational"),
    ("consistent", "inconsistent"),
    ("invertible", "singular"),
    ("singular", "invertible"),
    ("continuous", "discontinuous"),
    ("bounded", "unbounded"),
    ("finite", "infinite"),
    ("biased", "unbiased"),
    ("commutative", "noncommutative"),
    ("stable", "unstable"),
];

/// Other words of one meaning.
const SYNONYMS: [(&str, &str); 9] = [
    ("nonsingular", "invertible"),
    ("first quadrant", "quadrant i"),
    ("second quadrant", "quadrant ii"),
    ("third quadrant", "quadrant iii"),
    ("fourth quadrant", "quadrant iv"),
    ("quadrant 1", "quadrant i"),
    ("quadrant 2", "quadrant ii"),
    ("quadrant 3", "quadrant iii"),
    ("quadrant 4", "quadrant iv"),
];

/// Returns what words mean that deny the opposite: "diverges" for "does not converge", "no solution" for "no pair".
pub(super) fn meaning(words: &str) -> &str {
    let openings = ["does not ", "do not ", "doesn't ", "is not ", "are not ", "isn't ", "not "];
    let denied = openings.iter().find_map(|opening| words.strip_prefix(*opening));
    if let Some(denied) = denied {
        let known = OPPOSITES.iter().find(|(word, _)| *word == denied);
        return known.map_or(words, |(_, opposite)| opposite);
    }
    let names_null = ["hypothesis", "h_0", "h0"].iter().any(|name| words.contains(name));
    if names_null && words.contains("eject") && !words.contains("alternative") {
        let keeps = ["fail", "not ", "n't", "cannot", "can not", "insufficient"];
        let is_kept = keeps.iter().any(|word| words.contains(word));
        return if is_kept { "fail to reject" } else { "reject" };
    }
    if let Some(said) = words.strip_prefix("no ") {
        return if names_nothing(said) { "no solution" } else { words };
    }
    SYNONYMS.iter().find(|(wording, _)| *wording == words).map_or(words, |(_, meant)| meant)
}

/// Returns whether words name what an equation may have: "real values", "ordered pair".
fn names_nothing(words: &str) -> bool {
    const KINDS: [&str; 11] = [
        "real", "integer", "ordered", "positive", "natural", "such", "rational", "whole",
        "complex", "possible", "valid",
    ];
    const NOUNS: [&str; 20] = [
        "pair",
        "pairs",
        "triple",
        "triples",
        "value",
        "values",
        "number",
        "numbers",
        "integer",
        "integers",
        "point",
        "points",
        "solution",
        "solutions",
        "root",
        "roots",
        "x",
        "n",
        "y",
        "real",
    ];
    let mut said = words.split(' ').skip_while(|word| KINDS.contains(word)).peekable();
    let is_kind_alone = said.peek().is_none()
        && ["real", "integer", "such"].iter().any(|kind| words.ends_with(kind));
    is_kind_alone || said.next().is_some_and(|word| NOUNS.contains(&word)) && said.next().is_none()
}

/// Words with which a statement denies what was in question.
const DENIALS: [&str; 14] = [
    "not",
    "does not",
    "do not",
    "doesn't",
    "don't",
    "is not",
    "isn't",
    "never",
    "cannot",
    "fails",
    "fail",
    "no such",
    "there is no such",
    "there are no such",
];

/// Words with which a statement affirms it.
const AFFIRMATIONS: [&str; 2] = ["indeed", "is indeed"];

/// Returns whether `words`, which say something of what was in question, affirm or deny it.
pub(super) fn truth(words: &str) -> Option<bool> {
    let opens = |known: &&str| {
        words.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    if DENIALS.iter().any(opens) || words.starts_with("non-") {
        return Some(false);
    }
    // "no integer solutions", but "no solution" is an answer in words.
    let ends = ["solution", "solutions", "root", "roots", "pair", "pairs"];
    let is_answer = words == "no solution";
    if words.starts_with("no ") && !is_answer && ends.iter().any(|noun| words.ends_with(noun)) {
        return Some(false);
    }
    AFFIRMATIONS.iter().any(opens).then_some(true)
}
