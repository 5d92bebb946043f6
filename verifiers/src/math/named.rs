//! Gold answers in several named parts, whose values a response states in several places.

use maths::{Answer, Workspace};

use super::{Math, ReadCandidate, ReadGold};
use crate::{Candidate, Claim, Verdict, VerifyError, extract};

impl Math {
    /// Judges by the values that the response states for the parts of the only gold answer, by their names: "center
    /// (2, -3), radius 5" where "Center" and "Radius" head two lines. Names choose the values, and no value of the
    /// gold answer does. `None` where a part has no value, or where one text marked as the answer has as many
    /// members.
    pub(super) fn judge_parts(
        &self,
        golds: &[ReadGold<'_>],
        claim: &Claim<'_>,
        ws: &mut Workspace<'_>,
    ) -> Option<Result<Verdict, VerifyError>> {
        let [gold] = golds else {
            return None;
        };
        let response = claim.response.filter(|_| gold.answer.names_members())?;
        let count = gold.answer.member_count();
        let is_whole = match claim.candidate {
            Candidate::Missing => true,
            Candidate::Text(text) => {
                let answer = self.read_candidate(text, ws).answer;
                answer.is_ok_and(|answer| answer.member_count() >= count || answer.is_enclosed())
            }
            Candidate::Several { all, .. } => all.len() >= count,
            Candidate::Statement { .. } => false,
        };
        if is_whole {
            return None;
        }
        let names = maths::part_names(&gold.answer);
        let values = extract::named_parts(response, &names)?;
        let part = |(names, value): (&Vec<&str>, &str)| {
            let name = names.last().copied().unwrap_or_default();
            format!("{name}: {}", without_letter(value).replace("\\boxed", ""))
        };
        let text: Vec<String> = names.iter().zip(values).map(part).collect();
        let text = text.join("; ");
        let answer = maths::read_answer(&text, self.read_options(), ws);
        answer.as_ref().is_ok_and(Answer::names_members).then_some(())?;
        let candidate = ReadCandidate::several(text, answer);
        Some(self.asked(gold, &candidate, claim, ws))
    }
}

/// Returns the coordinates of a point without its letter: `(-1|2)` of `H(-1|2)`.
fn without_letter(value: &str) -> &str {
    let bare = value.strip_prefix(|c: char| c.is_ascii_uppercase());
    bare.filter(|bare| bare.starts_with('(') && bare.contains(['|', ',', ';'])).unwrap_or(value)
}
