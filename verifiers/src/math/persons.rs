//! Persons and things that a question names in order.

use super::question::Question;

/// Returns whether a value is wanted for each of `count` persons or things that the question names in
/// order: "Ann, Bob and Cy split it in the ratio 2:3:7. How much does each receive?"
pub(super) fn names_each(question: &Question<'_>, count: usize) -> bool {
    let asks = ["each", "respectively", "ratio", "in that order"];
    if !asks.iter().any(|phrase| question.lower().contains(phrase)) {
        return false;
    }
    let words: Vec<&str> = question.text.split_whitespace().collect();
    let goes_on = |at: usize| is_name(words[at]) && words[at].ends_with(',');
    let opens = |from: &usize| from.checked_sub(1).is_none_or(|before| !goes_on(before));
    (0..words.len()).filter(opens).any(|from| listed(&words[from..]) == Some(count))
}

impl Question<'_> {
    /// Whether `statement` names the player that `gold` does, by a number: 2 after "which player wins?", for the
    /// second player. `None` where either names none, or the question speaks of no players.
    pub(super) fn same_player(&self, gold: &str, statement: &str) -> Option<bool> {
        let is_asked = ["which player", "who wins", "which of the players", "who has a winning"]
            .iter()
            .any(|words| self.lower().contains(words));
        if !is_asked {
            return None;
        }
        let player = |text: &str| {
            let text = text.trim_matches(['*', '$', ' ', '.']).to_lowercase();
            let text = text.strip_prefix("the ").unwrap_or(&text);
            let text = text.strip_suffix(" wins").unwrap_or(text);
            let place = match text {
                "1" | "player 1" | "player one" | "first" | "first player" | "1st player" => 1,
                "2" | "player 2" | "player two" | "second" | "second player" | "2nd player" => 2,
                _ => return None,
            };
            Some(place)
        };
        Some(player(gold)? == player(statement)?)
    }
}

/// Returns how many names a list has that opens `words`: 3 of "Ann, Bob and Cy".
fn listed(words: &[&str]) -> Option<usize> {
    let mut count = 0;
    let mut words = words.iter().peekable();
    loop {
        let word = words.next().filter(|word| is_name(word))?;
        count += 1;
        let is_and = |word: &&&str| matches!(**word, "and" | "&" | "und" | "et" | "y" | "e");
        if words.next_if(is_and).is_some() {
            return words.next().filter(|last| is_name(last)).map(|_| count + 1);
        }
        if !word.ends_with(',') {
            // "A, B, C"
            return Some(count).filter(|count| *count > 2);
        }
    }
}

fn is_name(word: &str) -> bool {
    let bare = word.trim_end_matches([',', '.', '?', ':', ';', ')']);
    bare.starts_with(|c: char| c.is_ascii_uppercase()) && bare.chars().all(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_are_counted() {
        let check = |text: &str, count: usize, expected: bool| {
            assert_eq!(names_each(&Question::new(text), count), expected, "{text}, {count}");
        };
        check("Ann, Bob and Cy split 84. How much does each receive?", 3, true);
        check("Divide 1000 among A, B, and C in the ratio 2:3:5.", 3, true);
        check("Ann, Bob and Cy split 84. How much does each receive?", 2, false);
        check("Solve for each x.", 2, false);
        check("Ann, Bob and Cy meet. When?", 3, false);
        check("Find each root. Then stop.", 1, false);
    }
}
