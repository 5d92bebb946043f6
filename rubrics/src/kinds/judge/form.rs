//! The form of a judgement: the criteria, scale and output that a judge gets as one line of JSON
//! (the rubric of the paper), and the judgements that it writes.
//!
//! A judgement is a JSON object of fixed fields. The schema constrains generation token by token,
//! and the text is still parsed strictly.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Number of responses in a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    /// A grade for one response.
    #[default]
    Grade,
    /// The better of two responses.
    Pair,
    /// A grade for each response of a list.
    List,
}

/// Rationale of a judgement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rationale {
    /// Reasons, after the verdict.
    #[default]
    After,
    /// Reasons, before the verdict.
    Before,
    /// Nothing: where the verdict is one token, nothing is generated.
    None,
}

/// Criteria, scale and output fields of a judgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct JudgementForm {
    pub(super) mode: Mode,
    pub(super) rationale: Rationale,
    pub(super) criteria: Vec<String>,
    /// The least and the best grade.
    pub(super) scale: (u32, u32),
}

/// The verdict of a judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// `score`.
    Grade(u32),
    /// `winner`: 0 for the first position.
    Winner(usize),
    /// `scores`.
    Grades(Vec<u32>),
}

/// A parsed judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) said: Said,
    pub(super) reason: Option<String>,
}

/// Names of the two responses of a pair.
pub(super) const NAMES: [&str; 2] = ["A", "B"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GradeFields {
    score: u32,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PairFields {
    winner: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListFields {
    scores: Vec<u32>,
    reason: Option<String>,
}

impl JudgementForm {
    /// The content of the system message: one line of JSON.
    pub(super) fn line(&self) -> String {
        let mut line = Map::new();
        line.insert("criteria".to_owned(), json!(self.criteria));
        let verdict = match self.mode {
            Mode::Grade => json!("integer"),
            Mode::Pair => json!("A or B"),
            Mode::List => json!(["integer"]),
        };
        match self.mode {
            Mode::Grade | Mode::List => {
                line.insert("scale".to_owned(), json!([self.scale.0, self.scale.1]));
            }
            Mode::Pair => {}
        }
        let output = self.object(&verdict, &json!("string"));
        line.insert("output".to_owned(), output);
        Value::Object(line).to_string()
    }

    /// The schema of a judgement of `count` responses.
    pub(super) fn schema(&self, count: usize) -> Value {
        let (least, most) = self.scale;
        let grade = json!({"type": "integer", "minimum": least, "maximum": most});
        let verdict = match self.mode {
            Mode::Grade => grade,
            Mode::Pair => json!({"enum": NAMES}),
            Mode::List => json!({
                "type": "array", "items": grade, "minItems": count, "maxItems": count,
            }),
        };
        let fields = self.object(&verdict, &json!({"type": "string"}));
        let names: Vec<&String> = fields.as_object().into_iter().flat_map(Map::keys).collect();
        json!({
            "type": "object", "properties": fields, "required": names,
            "additionalProperties": false,
        })
    }

    /// Parses a judgement.
    ///
    /// # Errors
    /// The reason, for people.
    pub(super) fn parse(&self, text: &str, count: usize) -> Result<Judgement, String> {
        let wrong = |error: serde_json::Error| error.to_string();
        let (said, reason) = match self.mode {
            Mode::Grade => {
                let fields: GradeFields = serde_json::from_str(text).map_err(wrong)?;
                self.graded(&[fields.score])?;
                (Said::Grade(fields.score), fields.reason)
            }
            Mode::Pair => {
                let fields: PairFields = serde_json::from_str(text).map_err(wrong)?;
                let winner = NAMES.iter().position(|name| *name == fields.winner);
                let winner = winner.ok_or("the winner is neither A nor B")?;
                (Said::Winner(winner), fields.reason)
            }
            Mode::List => {
                let fields: ListFields = serde_json::from_str(text).map_err(wrong)?;
                if fields.scores.len() != count {
                    let given = fields.scores.len();
                    return Err(format!("{given} grades for {count} responses"));
                }
                self.graded(&fields.scores)?;
                (Said::Grades(fields.scores), fields.reason)
            }
        };
        if reason.is_some() != self.gives_reasons() {
            return Err("the reason is missing or was not asked for".to_owned());
        }
        Ok(Judgement { said, reason })
    }

    /// The canonical text of a judgement: compact JSON with the fields in the order of the form.
    pub(super) fn to_text(&self, judgement: &Judgement) -> String {
        let verdict = match &judgement.said {
            Said::Grade(grade) => json!(grade),
            Said::Winner(first) => json!(NAMES[*first]),
            Said::Grades(grades) => json!(grades),
        };
        self.object(&verdict, &json!(judgement.reason)).to_string()
    }

    /// Returns the text of a judgement before the token of its verdict, given the reason.
    pub(super) fn before_verdict(&self, reason: Option<&str>) -> String {
        let mut text = String::from("{");
        if self.rationale == Rationale::Before {
            let reason = json!(reason.unwrap_or_default());
            write!(text, "\"reason\":{reason},").expect("memory takes it");
        }
        text.push_str(match self.mode {
            Mode::Grade => "\"score\":",
            Mode::Pair => "\"winner\":\"",
            Mode::List => "\"scores\":[",
        });
        text
    }

    /// The verdicts that are one token each, in order.
    pub(super) fn labels(&self) -> Vec<String> {
        match self.mode {
            Mode::Grade | Mode::List => {
                let (least, most) = self.scale;
                (least..=most).map(|grade| grade.to_string()).collect()
            }
            Mode::Pair => NAMES.map(str::to_owned).to_vec(),
        }
    }

    /// Whether judgements have a reason.
    pub(super) fn gives_reasons(&self) -> bool {
        match self.rationale {
            Rationale::After | Rationale::Before => true,
            Rationale::None => false,
        }
    }

    /// A grade as a share of the scale.
    pub(super) fn share(&self, grade: f64) -> f64 {
        let (least, most) = (f64::from(self.scale.0), f64::from(self.scale.1));
        (grade - least) / (most - least)
    }

    fn graded(&self, grades: &[u32]) -> Result<(), String> {
        let (least, most) = self.scale;
        match grades.iter().find(|grade| !(least..=most).contains(grade)) {
            Some(grade) => Err(format!("the grade {grade} is not from {least} to {most}")),
            None => Ok(()),
        }
    }

    /// The fields of a judgement, in their order.
    fn object(&self, verdict: &Value, reason: &Value) -> Value {
        let field = match self.mode {
            Mode::Grade => "score",
            Mode::Pair => "winner",
            Mode::List => "scores",
        };
        match self.rationale {
            Rationale::After => json!({field: verdict, "reason": reason}),
            Rationale::Before => json!({"reason": reason, field: verdict}),
            Rationale::None => json!({field: verdict}),
        }
    }
}

#[cfg(test)]
mod tests;
