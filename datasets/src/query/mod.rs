//! SQL over one table, `data`, that can do nothing but select.
//!
//! `DataFusion` reads, plans and runs it. There is no other table, no function that reads files, and
//! no statement but a query; memory is bounded, and what does not fit goes to a folder that is
//! named by the caller. Names keep their case, and nulls come last however rows are ordered.

mod fault;
mod paths;
mod table;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlanProperties as _, PhysicalExpr};
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures_util::StreamExt as _;

pub use self::fault::{Place, proposals};
use self::paths::paths;
pub use self::table::{OnReject, ScanTable};
use crate::scan::term::{Term, narrow};
use crate::{DatasetError, Result};

/// The one table.
pub const TABLE: &str = "data";

/// What queries may use.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Bytes of memory for sorting and grouping.
    pub memory_bytes: usize,
    /// Where what does not fit goes; nowhere for an engine that only plans. The folder is made.
    pub spill: Option<PathBuf>,
}

/// Expressions and queries over rows with one schema.
pub struct Engine {
    context: SessionContext,
    schema: SchemaRef,
}

/// A column to write: an expression and its name.
pub struct Selected {
    pub name: String,
    pub expr: Arc<dyn PhysicalExpr>,
    pub data_type: DataType,
    /// Notes of the column, where it is one of the input.
    pub metadata: HashMap<String, String>,
    /// The columns that it reads.
    pub reads: Vec<String>,
}

impl Engine {
    /// Over rows with these columns.
    pub fn new(schema: &SchemaRef, bounds: &Bounds) -> Result<Self> {
        let failed = |error: DataFusionError| DatasetError::Usage(error.to_string());
        let mode = match &bounds.spill {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(DatasetError::io("make", folder))?;
                DiskManagerMode::Directories(vec![folder.clone()])
            }
            None => DiskManagerMode::Disabled,
        };
        let disk = DiskManagerBuilder::default().with_mode(mode);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_limit(bounds.memory_bytes, 1.0)
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(failed)?;
        let mut config =
            SessionConfig::new().with_target_partitions(1).with_information_schema(false);
        let options = config.options_mut();
        options.sql_parser.enable_ident_normalization = false;
        options.sql_parser.collect_spans = true;
        "nulls_last".clone_into(&mut options.sql_parser.default_null_ordering);
        options.execution.enable_recursive_ctes = false;
        // Left at its default, a sort wants more than all of a small pool before it begins.
        options.execution.sort_spill_reservation_bytes = bounds.memory_bytes / 16;
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features()
            .build();
        let context = SessionContext::new_with_state(state);
        for function in ["generate_series", "range"] {
            context.deregister_udtf(function);
        }
        Ok(Self { context, schema: schema.clone() })
    }

    /// The conditions of a text, one for each of those that `AND` joins.
    pub fn terms(&self, text: &str, place: Place) -> Result<Vec<Term>> {
        let fault = |error| fault::explained(&error, place, text, &self.schema);
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let parsed = state.sql_to_expr_with_alias(text, &dialect).map_err(fault)?;
        if parsed.alias.is_some() {
            return Err(place.fault("a condition has no name"));
        }
        let mut conjuncts = Vec::new();
        split(parsed.expr, &mut conjuncts);
        let term = |conjunct| self.term(conjunct, &state, place, text);
        conjuncts.into_iter().map(term).collect()
    }

    fn term(
        &self,
        conjunct: ast::Expr,
        state: &SessionState,
        place: Place,
        whole_text: &str,
    ) -> Result<Term> {
        let fault = |error| fault::explained(&error, place, whole_text, &self.schema);
        let text = conjunct.to_string();
        let schema = self.df_schema().map_err(fault)?;
        let sql = ast::ExprWithAlias { expr: conjunct, alias: None };
        let expr = state.create_logical_expr_from_sql_expr(sql, &schema).map_err(fault)?;
        refuse_many_rows(&expr, place, &text)?;
        let whole = state.create_physical_expr(expr.clone(), &schema).map_err(fault)?;
        let found = whole.data_type(&self.schema).map_err(fault)?;
        if !matches!(found, DataType::Boolean | DataType::Null) {
            let kind = crate::source::type_name(&found);
            return Err(place.fault(format!("'{text}' is {kind}, and no condition")));
        }
        let paths = paths(&expr);
        let narrow = narrow(&self.schema, &paths);
        let narrow = DFSchema::try_from(narrow).map_err(fault)?;
        let narrow = state.create_physical_expr(expr, &narrow).map_err(fault)?;
        Ok(Term { text, paths, whole, narrow })
    }

    /// The columns that a list of expressions selects.
    pub fn select(&self, text: &str, place: Place) -> Result<Vec<Selected>> {
        let fault = |error| fault::explained(&error, place, text, &self.schema);
        let plan = self.plan(&format!("SELECT\n{text}\nFROM {TABLE}"), place, text)?;
        let LogicalPlan::Projection(projection) = plan else {
            return Err(
                place.fault("only a list of columns and expressions; --sql takes a whole query")
            );
        };
        if !matches!(*projection.input, LogicalPlan::TableScan(_)) {
            return Err(place.fault("only expressions over one row; --sql takes a whole query"));
        }
        let schema = projection.schema.clone();
        let input = projection.input.schema().clone();
        let state = self.context.state();
        let select = |(expr, (_, field)): (&Expr, (_, &Arc<arrow::datatypes::Field>))| {
            let name = field.name().clone();
            let expr = expr.clone().unalias();
            let reads = columns(&expr);
            let expr = state.create_physical_expr(expr, &input).map_err(fault)?;
            Ok(Selected {
                name,
                data_type: field.data_type().clone(),
                metadata: field.metadata().clone(),
                expr,
                reads,
            })
        };
        projection.expr.iter().zip(schema.iter()).map(select).collect()
    }

    /// One expression.
    pub fn expression(&self, text: &str, place: Place) -> Result<Selected> {
        let mut selected = self.select(text, place)?;
        match (selected.pop(), selected.len()) {
            (Some(one), 0) => Ok(one),
            (Some(_), n) => Err(place.fault(format!("one expression is wanted, not {}", n + 1))),
            (None, _) => Err(place.fault("an expression is wanted")),
        }
    }

    /// How a list of expressions orders rows.
    pub fn order(&self, text: &str, place: Place) -> Result<Vec<SortExpr>> {
        let sql = format!("SELECT * FROM {TABLE} ORDER BY\n{text}");
        let plan = self.plan(&sql, place, text)?;
        let LogicalPlan::Sort(sort) = plan else {
            return Err(
                place.fault("only a list of columns and expressions, each with ASC or DESC")
            );
        };
        let is_plain = matches!(
            sort.input.as_ref(),
            LogicalPlan::Projection(input) if matches!(*input.input, LogicalPlan::TableScan(_))
        );
        if !is_plain || sort.fetch.is_some() {
            return Err(place.fault("only expressions over one row; --sql takes a whole query"));
        }
        Ok(sort.expr)
    }

    /// The columns that an order reads.
    pub fn order_reads(&self, text: &str) -> Result<Vec<String>> {
        let order = self.order(text, Place::OrderBy)?;
        Ok(order.iter().flat_map(|by| columns(&by.expr)).collect())
    }

    /// Runs a query over `data`, and streams its rows.
    pub async fn query(&self, text: &str, table: ScanTable) -> Result<SendableRecordBatchStream> {
        let place = Place::Sql;
        let fault = |error| fault::explained(&error, place, text, &self.schema);
        self.context.register_table(TABLE, Arc::new(table)).map_err(fault)?;
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let statement = state.sql_to_statement(text, &dialect).map_err(fault)?;
        refuse_statements(&statement)?;
        let plan = state.statement_to_plan(statement).await.map_err(fault)?;
        read_only(&plan).map_err(fault)?;
        let frame = self.context.execute_logical_plan(plan).await.map_err(fault)?;
        let context = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.map_err(fault)?;
        let schema = plan.schema();
        let n_parts = plan.output_partitioning().partition_count();
        // The parts of a UNION are read one after the other, so that the same input gives the same
        // rows in the same order.
        let rows = futures_util::stream::iter(0..n_parts).flat_map(move |part| {
            match plan.execute(part, context.clone()) {
                Ok(rows) => rows.boxed(),
                Err(error) => futures_util::stream::iter([Err(error)]).boxed(),
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    /// The same over what `bounds` allow.
    pub fn within(&self, bounds: &Bounds) -> Result<Self> {
        Self::new(&self.schema, bounds)
    }

    /// The context, for plans that are made of expressions.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// An error of a query that is running.
    pub fn explain(&self, error: &DataFusionError, place: Place, text: &str) -> DatasetError {
        fault::explained(error, place, text, &self.schema)
    }

    fn df_schema(&self) -> std::result::Result<DFSchema, DataFusionError> {
        DFSchema::try_from(self.schema.as_ref().clone())
    }

    /// Plans a query over an empty `data`.
    fn plan(&self, sql: &str, place: Place, text: &str) -> Result<LogicalPlan> {
        let fault = |error| fault::explained_below(&error, place, text, &self.schema);
        let empty = MemTable::try_new(self.schema.clone(), vec![vec![]]).map_err(fault)?;
        self.context.register_table(TABLE, Arc::new(empty)).map_err(fault)?;
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let statement = state.sql_to_statement(sql, &dialect).map_err(fault)?;
        refuse_statements(&statement)?;
        let plan = futures_util::FutureExt::now_or_never(state.statement_to_plan(statement))
            .ok_or_else(|| place.fault("only expressions over one row"))?
            .map_err(fault)?;
        read_only(&plan).map_err(fault)?;
        self.context.deregister_table(TABLE).map_err(fault)?;
        Ok(plan)
    }
}

/// The columns that an expression reads.
fn columns(expr: &Expr) -> Vec<String> {
    let first = |path: Vec<String>| path.into_iter().next();
    paths(expr).into_iter().filter_map(first).collect()
}

/// The parts that `AND` joins.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other expression is a part")]
fn split(expr: ast::Expr, parts: &mut Vec<ast::Expr>) {
    let mut waiting = vec![expr];
    while let Some(expr) = waiting.pop() {
        if let ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } = expr {
            waiting.extend([*right, *left]);
            continue;
        }
        // Brackets round a conjunction add nothing to it.
        let is_and = |inner: &ast::Expr| {
            let and = ast::BinaryOperator::And;
            matches!(inner, ast::Expr::BinaryOp { op, .. } if *op == and)
        };
        match expr {
            ast::Expr::Nested(inner) if is_and(&inner) => waiting.push(*inner),
            expr => parts.push(expr),
        }
    }
}

/// A condition looks at one row.
fn refuse_many_rows(expr: &Expr, place: Place, text: &str) -> Result<()> {
    let mut many = false;
    let seen = expr.apply(|expr| {
        many |= matches!(
            expr,
            Expr::AggregateFunction(_)
                | Expr::WindowFunction(_)
                | Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::Unnest(_)
                | Expr::Placeholder(_)
        );
        Ok(TreeNodeRecursion::Continue)
    });
    if many || seen.is_err() {
        let problem = format!("'{text}' looks at more than one row; --sql takes a whole query");
        return Err(place.fault(problem));
    }
    Ok(())
}

/// Only queries are run.
fn refuse_statements(statement: &Statement) -> Result<()> {
    let is_query = match statement {
        Statement::Statement(statement) => matches!(**statement, ast::Statement::Query(_)),
        Statement::CreateExternalTable(_)
        | Statement::CopyTo(_)
        | Statement::Explain(_)
        | Statement::Reset(_) => false,
    };
    if is_query {
        return Ok(());
    }
    let problem = format!("only SELECT over the table {TABLE} is run, and no other statement");
    Err(Place::Sql.fault(problem))
}

/// Queries read `data` and change nothing.
fn read_only(plan: &LogicalPlan) -> std::result::Result<(), DataFusionError> {
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(plan)
}
