//! Read-only SQL over one table, `data`, on `DataFusion`.
//!
//! There is no other table, no function that reads files and no statement but SELECT. Memory is
//! bounded; what does not fit is spilled to a folder that the caller names. Identifiers keep their
//! case, and nulls sort last in both directions.
//!
//! Plans and futures of `DataFusion` stay inside: rows come out as an iterator, expressions as
//! [`RowExpr`]. So its generic code is compiled in this crate alone, and for size; what runs for each
//! row is in the crates of Arrow, compiled for speed.

mod error;
mod expr;
mod limits;
mod paths;
mod rows;
mod sort;
mod table;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr};
use datafusion::physical_plan::ExecutionPlanProperties as _;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures_util::StreamExt as _;

pub use self::error::{SqlOption, near_names};
use self::expr::PlannedExpr;
use self::paths::{path, paths, without_nan};
use self::rows::{Explain, FirstError};
pub use self::rows::{QueryRows, SortInput};
pub use self::sort::SortStep;
pub use self::table::{OnReject, ScanTable};
use datasets::scan::{Condition, RowExpr, narrow};
use datasets::{DatasetError, Result};

/// Name of the only table.
pub const TABLE: &str = "data";

/// Memory and disk that queries may use.
#[derive(Debug, Clone)]
pub struct QueryLimits {
    /// Bytes of memory for sorting and grouping.
    pub memory_bytes: usize,
    /// Folder for spilled rows, created if missing; `None` for an engine that only plans.
    pub spill: Option<PathBuf>,
}

/// Plans and runs SQL expressions and queries over rows of one schema.
pub struct SqlEngine {
    context: SessionContext,
    schema: SchemaRef,
}

/// An output column of a SELECT list.
pub struct SelectedColumn {
    /// Its name in the output.
    pub name: String,
    /// The expression that computes it.
    pub expr: Arc<dyn RowExpr>,
    /// Its type.
    pub data_type: DataType,
    /// Arrow field metadata, kept if the column is one of the input.
    pub metadata: HashMap<String, String>,
    /// Input columns that the expression reads.
    pub reads: Vec<String>,
}

impl SqlEngine {
    /// Creates an engine for rows of `schema`.
    ///
    /// # Errors
    /// [`DatasetError::Io`] if the spill folder cannot be created.
    pub fn new(schema: &SchemaRef, limits: &QueryLimits) -> Result<Self> {
        let failed = |error: DataFusionError| DatasetError::Usage(error.to_string());
        let mode = match &limits.spill {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(DatasetError::io("make", folder))?;
                DiskManagerMode::Directories(vec![folder.clone()])
            }
            None => DiskManagerMode::Disabled,
        };
        let disk = DiskManagerBuilder::default().with_mode(mode);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_limit(limits.memory_bytes, 1.0)
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
        // With the default, a sort reserves more than a small pool holds before it starts.
        options.execution.sort_spill_reservation_bytes = limits.memory_bytes / 16;
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

    /// Parses a condition into its conjuncts, one [`Condition`] for each part joined by `AND`.
    pub fn conditions(&self, text: &str, option: SqlOption) -> Result<Vec<Condition>> {
        limits::check(text, option)?;
        let explain = |error| error::explain(&error, option, text, &self.schema);
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let parsed = state.sql_to_expr_with_alias(text, &dialect).map_err(explain)?;
        if parsed.alias.is_some() {
            return Err(option.error("a condition has no name"));
        }
        let mut conjuncts = Vec::new();
        split_and(parsed.expr, &mut conjuncts);
        let condition = |conjunct| self.condition(conjunct, &state, option, text);
        conjuncts.into_iter().map(condition).collect()
    }

    fn condition(
        &self,
        conjunct: ast::Expr,
        state: &SessionState,
        option: SqlOption,
        whole_text: &str,
    ) -> Result<Condition> {
        let explain = |error| error::explain(&error, option, whole_text, &self.schema);
        let text = conjunct.to_string();
        let schema = self.df_schema().map_err(explain)?;
        let sql = ast::ExprWithAlias { expr: conjunct, alias: None };
        let expr = state.create_logical_expr_from_sql_expr(sql, &schema).map_err(explain)?;
        refuse_many_rows(&expr, option, &text)?;
        let expr = without_nan(expr, &self.schema).map_err(explain)?;
        let physical = state.create_physical_expr(expr.clone(), &schema).map_err(explain)?;
        let found = physical.data_type(&self.schema).map_err(explain)?;
        if !matches!(found, DataType::Boolean | DataType::Null) {
            let kind = datasets::source::type_name(&found);
            return Err(option.error(format!("'{text}' is {kind}, and no condition")));
        }
        let paths = paths(&expr);
        let narrow = narrow(&self.schema, &paths);
        let narrow = DFSchema::try_from(narrow).map_err(explain)?;
        let narrow_expr = state.create_physical_expr(expr, &narrow).map_err(explain)?;
        Ok(Condition {
            text,
            paths,
            expr: PlannedExpr::new(physical),
            narrow_expr: PlannedExpr::new(narrow_expr),
        })
    }

    /// Plans a SELECT list over one row. A nested field without a name of its own has its path as one.
    pub fn select(&self, text: &str, option: SqlOption) -> Result<Vec<SelectedColumn>> {
        let explain = |error| error::explain(&error, option, text, &self.schema);
        let plan = self.plan(&format!("SELECT\n{text}\nFROM {TABLE}"), option, text)?;
        let LogicalPlan::Projection(projection) = plan else {
            return Err(
                option.error("only a list of columns and expressions; --sql takes a whole query")
            );
        };
        if !matches!(*projection.input, LogicalPlan::TableScan(_)) {
            return Err(option.error("only expressions over one row; --sql takes a whole query"));
        }
        let schema = projection.schema.clone();
        let input = projection.input.schema().clone();
        let state = self.context.state();
        let select = |(expr, (_, field)): (&Expr, (_, &Arc<arrow::datatypes::Field>))| {
            let name = path(expr).map_or_else(|| field.name().clone(), |path| path.join("."));
            let expr = expr.clone().unalias();
            let reads = columns(&expr);
            let expr = state.create_physical_expr(expr, &input).map_err(explain)?;
            Ok(SelectedColumn {
                name,
                data_type: field.data_type().clone(),
                metadata: field.metadata().clone(),
                expr: PlannedExpr::new(expr),
                reads,
            })
        };
        let selected: Vec<SelectedColumn> =
            projection.expr.iter().zip(schema.iter()).map(select).collect::<Result<_>>()?;
        let mut names = HashSet::new();
        match selected.iter().find(|column| !names.insert(column.name.as_str())) {
            Some(twice) => {
                let problem = format!("two columns are named '{}'; name one with AS", twice.name);
                Err(option.error(problem))
            }
            None => Ok(selected),
        }
    }

    /// Plans a single expression over one row.
    pub fn expression(&self, text: &str, option: SqlOption) -> Result<SelectedColumn> {
        let mut selected = self.select(text, option)?;
        match (selected.pop(), selected.len()) {
            (Some(one), 0) => Ok(one),
            (Some(_), n) => Err(option.error(format!("one expression is wanted, not {}", n + 1))),
            (None, _) => Err(option.error("an expression is wanted")),
        }
    }

    /// Input columns that an ORDER BY list over one row reads.
    ///
    /// # Errors
    /// [`DatasetError::Query`] for a list that is invalid, or looks at more than one row.
    pub fn order(&self, text: &str) -> Result<Vec<String>> {
        let order = self.plan_order(text)?;
        Ok(order.iter().flat_map(|by| columns(&by.expr)).collect())
    }

    fn plan_order(&self, text: &str) -> Result<Vec<SortExpr>> {
        let option = SqlOption::OrderBy;
        let sql = format!("SELECT * FROM {TABLE} ORDER BY\n{text}");
        let plan = self.plan(&sql, option, text)?;
        let LogicalPlan::Sort(sort) = plan else {
            return Err(
                option.error("only a list of columns and expressions, each with ASC or DESC")
            );
        };
        let is_plain = matches!(
            sort.input.as_ref(),
            LogicalPlan::Projection(input) if matches!(*input.input, LogicalPlan::TableScan(_))
        );
        if !is_plain || sort.fetch.is_some() {
            return Err(option.error("only expressions over one row; --sql takes a whole query"));
        }
        let explain = |error| error::explain(&error, option, text, &self.schema);
        let key = |by: SortExpr| {
            Ok(SortExpr { expr: without_nan(by.expr, &self.schema).map_err(explain)?, ..by })
        };
        sort.expr.into_iter().map(key).collect()
    }

    /// Runs a SELECT over `data`. Its rows come in a deterministic order.
    pub fn query(&self, text: &str, table: ScanTable) -> Result<QueryRows> {
        let option = SqlOption::Sql;
        limits::check(text, option)?;
        let explain = |error| error::explain(&error, option, text, &self.schema);
        self.context.register_table(TABLE, Arc::new(table)).map_err(explain)?;
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let statement = state.sql_to_statement(text, &dialect).map_err(explain)?;
        refuse_statements(&statement)?;
        let runtime = rows::runtime();
        let planned = runtime.block_on(async {
            let plan = state.statement_to_plan(statement).await?;
            read_only(&plan)?;
            let frame = self.context.execute_logical_plan(plan).await?;
            let context = Arc::new(frame.task_ctx());
            Ok((frame.create_physical_plan().await?, context))
        });
        let (plan, context) = planned.map_err(explain)?;
        let schema = plan.schema();
        let n_parts = plan.output_partitioning().partition_count();
        // The partitions of a UNION are read in turn, so that the order of rows is deterministic.
        let rows = futures_util::stream::iter(0..n_parts).flat_map(move |part| {
            match plan.execute(part, context.clone()) {
                Ok(rows) => rows.boxed(),
                Err(error) => futures_util::stream::iter([Err(error)]).boxed(),
            }
        });
        let stream = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        Ok(QueryRows::new(stream, runtime, self.explainer(option, text), FirstError::default()))
    }

    /// Creates an engine of the same schema with other limits.
    pub fn within(&self, limits: &QueryLimits) -> Result<Self> {
        Self::new(&self.schema, limits)
    }

    /// Explains errors of a running query; errors of reading are returned unchanged.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are explained alike")]
    fn explainer(&self, option: SqlOption, text: &str) -> Explain {
        let (text, schema) = (text.to_owned(), self.schema.clone());
        Box::new(move |error| match error {
            DataFusionError::External(inner) => match inner.downcast::<DatasetError>() {
                Ok(own) => *own,
                Err(other) => option.error(other),
            },
            error => error::explain(&error, option, &text, &schema),
        })
    }

    fn df_schema(&self) -> std::result::Result<DFSchema, DataFusionError> {
        DFSchema::try_from(self.schema.as_ref().clone())
    }

    /// Plans a query over an empty table `data`.
    fn plan(&self, sql: &str, option: SqlOption, text: &str) -> Result<LogicalPlan> {
        limits::check(text, option)?;
        let explain = |error| error::explain_below(&error, option, text, &self.schema);
        let empty = MemTable::try_new(self.schema.clone(), vec![vec![]]).map_err(explain)?;
        self.context.register_table(TABLE, Arc::new(empty)).map_err(explain)?;
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let statement = state.sql_to_statement(sql, &dialect).map_err(explain)?;
        refuse_statements(&statement)?;
        let plan = futures_util::FutureExt::now_or_never(state.statement_to_plan(statement))
            .ok_or_else(|| option.error("only expressions over one row"))?
            .map_err(explain)?;
        read_only(&plan).map_err(explain)?;
        self.context.deregister_table(TABLE).map_err(explain)?;
        Ok(plan)
    }
}

/// Input columns that an expression reads.
fn columns(expr: &Expr) -> Vec<String> {
    let first = |path: Vec<String>| path.into_iter().next();
    paths(expr).into_iter().filter_map(first).collect()
}

/// Splits an expression into the parts joined by `AND`.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other expression is a part")]
fn split_and(expr: ast::Expr, parts: &mut Vec<ast::Expr>) {
    let mut waiting = vec![expr];
    while let Some(expr) = waiting.pop() {
        if let ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } = expr {
            waiting.extend([*right, *left]);
            continue;
        }
        // Parentheses around a conjunction are dropped.
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

/// Refuses aggregates, windows and subqueries: a condition sees one row.
fn refuse_many_rows(expr: &Expr, option: SqlOption, text: &str) -> Result<()> {
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
        return Err(option.error(problem));
    }
    Ok(())
}

/// Refuses every statement but SELECT.
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
    Err(SqlOption::Sql.error(problem))
}

/// Refuses plans that change data or settings.
fn read_only(plan: &LogicalPlan) -> std::result::Result<(), DataFusionError> {
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(plan)
}
