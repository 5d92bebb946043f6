//! Reads the items of a rubric from a file.

use serde_json::Value;

use super::item::{ItemAnswer, RubricItem, Tier, Verification, Veto};
use super::table::Table;
use crate::Reference;
use crate::config::nearest;

/// Most tiers of an item: each has a letter.
pub(super) const MAX_TIERS: usize = 26;
/// Most bytes of a criterion; a longer one is a document and no criterion.
const MAX_CRITERION: usize = 16 << 10;
/// Default least score with which a criterion is met.
const AT_LEAST: f64 = 0.5;
/// Beginnings of the tags by which `RuscaRL` hands an item to a rule.
const RULE_TAGS: [&str; 3] = ["verifier", "function", "parameters"];
/// The one function that its code has, and the scorer that does the same here.
const FUNCTIONS: [(&str, &str); 1] = [("math_verify", "math")];

/// Form of an item's worth under a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// `points`, which must be there and not 0.
    Points,
    /// `weight`, 1 unless it is given.
    Weight,
}

/// Reads the item in `table`; errors become faults.
pub(super) fn read_item(
    table: Table<'_>,
    index: usize,
    worth: Worth,
    scorers: &[String],
) -> Option<RubricItem> {
    let id = match table.get("id") {
        None => Some((index + 1).to_string()),
        Some(_) => table.text("id").map(str::to_owned),
    };
    table.require("criterion");
    let criterion = table.text("criterion");
    if criterion.is_some_and(|text| text.len() > MAX_CRITERION) {
        table.fault("criterion", format!("longer than {MAX_CRITERION} bytes"));
    }
    let points = read_worth(&table, worth);
    let tags = table.texts("tags").unwrap_or_default();
    let answer = read_answer(&table, worth, &tags, scorers);
    let item = RubricItem {
        id: id.unwrap_or_default(),
        criterion: criterion.unwrap_or_default().to_owned(),
        points: points.unwrap_or_default(),
        tags: tags.into_iter().map(str::to_owned).collect(),
        veto: None,
        answer: answer.clone().unwrap_or(ItemAnswer::YesNo),
    };
    let veto = read_veto(&table, &item);
    let is_whole = criterion.is_some() && points.is_some() && answer.is_some();
    table.finish();
    is_whole.then_some(RubricItem { veto, ..item })
}

fn read_worth(table: &Table<'_>, worth: Worth) -> Option<f64> {
    match worth {
        Worth::Points => {
            table.refuse("weight", "this method counts 'points'");
            table.require("points");
            let points = table.amount("points")?;
            if points == 0.0 {
                table.fault("points", "0 points say nothing");
                return None;
            }
            Some(points)
        }
        Worth::Weight => {
            table.refuse("points", "this method counts 'weight'");
            if table.has("weight") {
                return table.amount("weight");
            }
            Some(1.0)
        }
    }
}

fn read_answer(
    table: &Table<'_>,
    worth: Worth,
    tags: &[&str],
    scorers: &[String],
) -> Option<ItemAnswer> {
    let tagged = read_tags(table, tags, scorers);
    let verifier = table.has("verifier").then(|| {
        let verification = table.table("verifier")?;
        read_verifier(verification, scorers)
    });
    let tiers = table.has("tiers").then(|| read_tiers(table, worth));
    let tagged = match tagged {
        Ok(None) => None,
        Ok(Some(verification)) => Some(Some(verification)),
        Err(Unusable) => Some(None),
    };
    let given = [
        tagged.map(|verification| verification.map(ItemAnswer::Verifier)),
        verifier.map(|verification| verification.map(ItemAnswer::Verifier)),
        tiers.map(|tiers| tiers.map(ItemAnswer::Tiers)),
    ];
    let mut given = given.into_iter().flatten();
    let first = given.next();
    if given.next().is_some() {
        let rule = "an item is answered by tiers, by a verifier or by its tags, and by one of them";
        table.fault("criterion", rule);
        return None;
    }
    first.unwrap_or(Some(ItemAnswer::YesNo))
}

fn read_verifier(table: Table<'_>, scorers: &[String]) -> Option<Verification> {
    table.require("scorer");
    let scorer = table.text("scorer");
    let known = scorer.filter(|name| {
        let is_known = scorers.iter().any(|known| known == name);
        if !is_known {
            table.fault("scorer", no_scorer(name, scorers));
        }
        is_known
    });
    let reference = match table.get("reference") {
        None => Some(None),
        Some(value) => {
            let read = item_reference(value);
            if read.is_none() {
                table.fault("reference", "expected a text, a list of texts or a table");
            }
            read.map(Some)
        }
    };
    let at_least = if table.has("at_least") { table.number("at_least") } else { Some(AT_LEAST) };
    table.finish();
    Some(Verification { scorer: known?.to_owned(), reference: reference?, at_least: at_least? })
}

fn no_scorer(name: &str, scorers: &[String]) -> String {
    let near = nearest(name, scorers.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("; did you mean '{near}'?"),
        None => format!("; the option `verifiers` names those that may: {}", scorers.join(", ")),
    };
    format!("no scorer '{name}' may be asked here{hint}")
}

fn item_reference(value: &Value) -> Option<Reference> {
    match value {
        Value::String(text) => Some(Reference::Text(text.clone())),
        Value::Array(texts) => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map(Reference::AnyOf)
        }
        Value::Object(object) => Some(Reference::Object(object.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Marks tags that cannot be used. The problem was already reported.
struct Unusable;

/// `verifier:rule`, `function:math_verify` and `parameters:<gold>`; all other tags are words.
fn read_tags(
    table: &Table<'_>,
    tags: &[&str],
    scorers: &[String],
) -> Result<Option<Verification>, Unusable> {
    let found = rule_tags(table, tags)?;
    let refuse = |message: String| {
        table.fault("tags", message);
        Err(Unusable)
    };
    let (function, gold) = match found {
        [None, None, None] => return Ok(None),
        [Some("rule"), Some(function), Some(gold)] => (function, gold),
        [Some(other), _, _] if other != "rule" => {
            return refuse(format!("unknown tag 'verifier:{other}'; there is rule"));
        }
        [_, _, _] => {
            let rule = "a rule item has the tags verifier:rule, function:… and parameters:…";
            return refuse(rule.to_owned());
        }
    };
    let Some((_, scorer)) = FUNCTIONS.iter().find(|(known, _)| *known == function) else {
        let message = format!("unknown tag 'function:{function}'; there is math_verify");
        return refuse(message);
    };
    if !scorers.iter().any(|known| known == scorer) {
        return refuse(no_scorer(scorer, scorers));
    }
    Ok(Some(Verification {
        scorer: (*scorer).to_owned(),
        reference: Some(Reference::Text(gold.to_owned())),
        at_least: AT_LEAST,
    }))
}

/// Reads the text after each of [`RULE_TAGS`].
fn rule_tags<'t>(table: &Table<'_>, tags: &[&'t str]) -> Result<[Option<&'t str>; 3], Unusable> {
    let mut found = [None; 3];
    let mut is_usable = true;
    for tag in tags {
        let Some((begin, rest)) = tag.split_once(':') else {
            continue;
        };
        match RULE_TAGS.iter().position(|known| *known == begin) {
            Some(which) if found[which].is_none() => found[which] = Some(rest),
            Some(_) => {
                table.fault("tags", format!("two tags begin with '{begin}:'"));
                is_usable = false;
            }
            None => {
                if let Some(near) = nearest(begin, RULE_TAGS.into_iter()) {
                    let message = format!("unknown tag '{tag}'; did you mean '{near}:'?");
                    table.fault("tags", message);
                    is_usable = false;
                }
            }
        }
    }
    if is_usable { Ok(found) } else { Err(Unusable) }
}

fn read_tiers(table: &Table<'_>, worth: Worth) -> Option<Vec<Tier>> {
    let tables = table.tables("tiers")?;
    let count = tables.len();
    let read = tables.into_iter().map(|(_, tier)| {
        tier.require("text");
        tier.require("value");
        let (text, value) = (tier.text("text").map(str::to_owned), tier.amount("value"));
        tier.finish();
        Some(Tier { text: text?, value: value? })
    });
    // Every tier is read before an error returns, so that all faults are reported.
    let read: Vec<Option<Tier>> = read.collect();
    let tiers: Vec<Tier> = read.into_iter().collect::<Option<_>>()?;
    if !(2..=MAX_TIERS).contains(&count) {
        table.fault("tiers", format!("{count} tiers; there are 2 to {MAX_TIERS}"));
        return None;
    }
    let pairs = || tiers.windows(2).map(|pair| (pair[0].value, pair[1].value));
    if !pairs().all(|(a, b)| a < b) && !pairs().all(|(a, b)| a > b) {
        let rule = "tiers are in order: their values all rise or all fall";
        table.fault("tiers", rule);
        return None;
    }
    let outside = |tier: &Tier| !(0.0..=1.0).contains(&tier.value);
    if worth == Worth::Points && tiers.iter().any(outside) {
        let rule = "where points are counted, tiers are shares of them: values from 0 to 1";
        table.fault("tiers", rule);
        return None;
    }
    Some(tiers)
}

/// `critical = { below = 0.5 }` or `{ above = 0.5 }`; one that always or never strikes, or strikes
/// at what the points reward, is a fault.
fn read_veto(table: &Table<'_>, item: &RubricItem) -> Option<Veto> {
    let critical = table.table("critical")?;
    let (below, above) = (critical.number("below"), critical.number("above"));
    let is_one = critical.has("below") != critical.has("above");
    if !is_one {
        critical.fault("below", "give either 'below' or 'above'");
    }
    let veto = match (below, above) {
        (Some(least), None) => Some(Veto::Below(least)),
        (None, Some(most)) => Some(Veto::Above(most)),
        (Some(_), Some(_)) | (None, None) => None,
    };
    let veto = veto.filter(|_| is_one);
    if let Some(veto) = veto
        && let Some(fault) = contradiction(veto, item)
    {
        let key = match veto {
            Veto::Below(_) => "below",
            Veto::Above(_) => "above",
        };
        critical.fault(key, fault);
    }
    critical.finish();
    veto
}

fn contradiction(veto: Veto, item: &RubricItem) -> Option<String> {
    let (least, most) = item.range();
    if veto.strikes(least) && veto.strikes(most) {
        return Some(format!(
            "contradictory veto: the values lie from {least} to {most}, so no response can pass"
        ));
    }
    if !veto.strikes(least) && !veto.strikes(most) {
        return Some(format!("the values lie from {least} to {most}, so this never vetoes"));
    }
    let forbids_merit = match veto {
        Veto::Below(_) => item.points < 0.0,
        Veto::Above(_) => item.points > 0.0,
    };
    forbids_merit
        .then(|| "contradictory veto: it strikes at what the item's own points reward".to_owned())
}
