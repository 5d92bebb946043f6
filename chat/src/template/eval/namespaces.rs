//! Namespaces: the one mutable value of the language.

use super::super::error::{RenderError, invalid};
use super::super::value::Value;
use super::evaluator::TemplateEvaluator;

/// Hugging Face's namespaces refuse names that start with an underscore.
pub(super) fn check_name(name: &str) -> Result<(), RenderError> {
    if name.starts_with('_') {
        return Err(invalid(format!("a namespace cannot hold `{name}`")));
    }
    Ok(())
}

impl TemplateEvaluator<'_> {
    pub(super) fn new_namespace(
        &mut self,
        vars: Vec<(String, Value)>,
    ) -> Result<Value, RenderError> {
        let names: usize = vars.iter().map(|(name, _)| name.len()).sum();
        let bytes = names + (vars.len() + 1) * size_of::<(String, Value)>();
        self.held.push(self.heap.charge(bytes)?);
        self.namespaces.push(vars);
        Ok(Value::Namespace(self.namespaces.len() - 1))
    }

    pub(super) fn set_namespace(
        &mut self,
        id: usize,
        name: &str,
        value: Value,
    ) -> Result<(), RenderError> {
        check_name(name)?;
        let vars = &mut self.namespaces[id];
        self.heap.search(name, vars.len())?;
        if let Some((_, slot)) = vars.iter_mut().find(|(n, _)| n == name) {
            *slot = value;
            return Ok(());
        }
        // A namespace lives to the end of the render, and so do its names.
        self.held.push(self.heap.charge(name.len() + size_of::<(String, Value)>())?);
        vars.push((name.to_owned(), value));
        Ok(())
    }

    pub(super) fn get_namespace(
        &self,
        id: usize,
        name: &str,
    ) -> Result<Option<Value>, RenderError> {
        let vars = &self.namespaces[id];
        self.heap.search(name, vars.len())?;
        Ok(vars.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()))
    }
}
