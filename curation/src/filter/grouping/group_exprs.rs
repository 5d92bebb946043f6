//! The expressions that groups are decided by, as they were written or by default.

use arrow::datatypes::{DataType, Field, SchemaRef};

use super::super::columns::{self, quoted};
use super::operation::{GroupOperation, GroupOptions, Reads};
use datasets::Result;
use query::{SelectedColumn, SqlOption, near_names};

/// Expressions that a pass decides by.
pub(super) struct GroupExprs {
    pub(super) keys: GroupExpr,
    pub(super) score: Option<GroupExpr>,
    pub(super) prompt: Option<GroupExpr>,
    pub(super) response: Option<GroupExpr>,
    pub(super) answer: Option<GroupExpr>,
    pub(super) against: Option<GroupExpr>,
    pub(super) index: Option<GroupExpr>,
}

/// An expression.
pub(super) struct GroupExpr {
    /// As it was written.
    pub(super) shown: String,
    pub(super) sql: String,
}

impl GroupExprs {
    pub(super) fn new(schema: &SchemaRef, options: &GroupOptions) -> Result<Self> {
        let reads = options.operation.reads();
        let score = match (reads, &options.score) {
            (_, Some(score)) => Some(whole_name(score, schema)),
            (Reads::Answers, None) => None,
            (Reads::Responses | Reads::Pairs, None) => Some(only_score(schema)?),
        };
        let column = |name: &Option<String>, default: &str, place| -> Result<GroupExpr> {
            let shown = name.as_deref().unwrap_or(default).to_owned();
            let sql = quoted(&shown, schema, place)?;
            Ok(GroupExpr { shown, sql })
        };
        let prompt = match reads {
            Reads::Pairs => Some(column(&options.prompt, "prompt", SqlOption::Prompt)?),
            Reads::Responses | Reads::Answers => None,
        };
        let response = match (reads, &options.response) {
            (Reads::Pairs, name) | (Reads::Responses, name @ Some(_)) => {
                Some(column(name, "response", SqlOption::Response)?)
            }
            // Without a column of that name, the row itself is its response.
            (Reads::Responses, None) => column(&None, "response", SqlOption::Response).ok(),
            (Reads::Answers, _) => None,
        };
        let answer = match &options.operation {
            GroupOperation::Majority { answer } => Some(whole_name(answer, schema)),
            GroupOperation::PassRate { .. }
            | GroupOperation::BestOfN { .. }
            | GroupOperation::BestWorstPairs { .. }
            | GroupOperation::Filtration { .. } => None,
        };
        let orders = match &options.operation {
            GroupOperation::BestWorstPairs { orders, .. } => orders.as_ref(),
            GroupOperation::PassRate { .. }
            | GroupOperation::BestOfN { .. }
            | GroupOperation::Majority { .. }
            | GroupOperation::Filtration { .. } => None,
        };
        Ok(Self {
            against: orders.map(|orders| whole_name(&orders.against, schema)),
            index: orders.map(|orders| whole_name(&orders.index, schema)),
            keys: whole_name(&options.by, schema),
            score,
            prompt,
            response,
            answer,
        })
    }

    /// Every expression with its place.
    pub(super) fn expressions(&self) -> impl Iterator<Item = (&GroupExpr, SqlOption)> {
        let others = [
            (&self.score, SqlOption::Score),
            (&self.prompt, SqlOption::Prompt),
            (&self.response, SqlOption::Response),
            (&self.answer, SqlOption::Answer),
            (&self.against, SqlOption::Against),
            (&self.index, SqlOption::Index),
        ];
        let others = others.into_iter().filter_map(|(text, place)| Some((text.as_ref()?, place)));
        std::iter::once((&self.keys, SqlOption::GroupBy)).chain(others)
    }
}

/// Returns the column with exactly this name, which may have any characters; else the expression.
fn whole_name(text: &str, schema: &SchemaRef) -> GroupExpr {
    let sql = match schema.index_of(text) {
        Ok(_) => columns::sql(text, &[]),
        Err(_) => text.to_owned(),
    };
    let shown = text.to_owned();
    GroupExpr { shown, sql }
}

/// The only column `scores.NAME.score`.
fn only_score(schema: &SchemaRef) -> Result<GroupExpr> {
    let is_score = |data_type: &DataType| {
        let DataType::Struct(fields) = data_type else {
            return false;
        };
        fields.iter().any(|field| {
            let data_type = field.data_type();
            field.name() == "score" && (data_type.is_numeric() || data_type.is_null())
        })
    };
    let scores = schema.field_with_name("scores").map(Field::data_type);
    let scorers: Vec<&str> = match scores {
        Ok(DataType::Struct(fields)) => {
            let scorers = fields.iter().filter(|field| is_score(field.data_type()));
            scorers.map(|field| field.name().as_str()).collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    };
    match scorers.as_slice() {
        [one] => Ok(GroupExpr {
            shown: format!("scores.{one}.score"),
            sql: columns::sql("scores", &[one, "score"]),
        }),
        [] => Err(SqlOption::Score.error(format!(
            "there is no column scores.NAME.score; name the score{}",
            near_names("score", schema)
        ))),
        several => {
            let paths: Vec<String> =
                several.iter().map(|name| format!("'scores.{name}.score'")).collect();
            Err(SqlOption::Score.error(format!(
                "there are {} scores; name one of {}",
                paths.len(),
                paths.join(", ")
            )))
        }
    }
}

/// Checks that expressions have types that can be what they are for.
pub(super) fn check(text: &str, place: SqlOption, found: &[SelectedColumn]) -> Result<()> {
    let wrong = |data_type: &DataType, wanted: &str| {
        let kind = datasets::source::type_name(data_type);
        Err(place.error(format!("'{text}' is {kind}, and no {wanted}")))
    };
    for column in found {
        let data_type = &column.data_type;
        let is_number = data_type.is_numeric() || *data_type == DataType::Boolean;
        if place == SqlOption::Score && !is_number && !data_type.is_null() {
            return wrong(data_type, "score: a number is one, and a truth value is 0 or 1");
        }
        if place == SqlOption::Index && !data_type.is_integer() && !data_type.is_null() {
            return wrong(data_type, "place in a list: an integer from 0 is one");
        }
        let is_list = matches!(data_type, DataType::List(item) | DataType::LargeList(item)
            if item.data_type().is_numeric() || item.data_type().is_null());
        if place == SqlOption::Against && !is_list && !data_type.is_null() {
            return wrong(data_type, "list of numbers");
        }
        if place == SqlOption::Answer && data_type.is_nested() {
            return wrong(data_type, "answer: a text or a number is one");
        }
    }
    Ok(())
}
