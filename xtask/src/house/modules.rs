//! The files of a crate as modules, and which file names which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::source::{self, Definition, Import};

/// A file of production code.
#[derive(Debug)]
pub(crate) struct Module {
    /// Path from the workspace root.
    pub(crate) file: String,
    /// Path of the module in its crate; empty for `lib.rs` and `main.rs`.
    pub(crate) path: Vec<String>,
    pub(crate) definitions: Vec<Definition>,
    imports: Vec<Import>,
    inline: Vec<Vec<String>>,
}

/// The production modules of one crate, tests left out.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) modules: Vec<Module>,
    by_path: BTreeMap<Vec<String>, usize>,
    /// Lines of all Rust files under `src`, tests included.
    pub(crate) lines: usize,
}

impl Crate {
    /// Reads `folder/src`.
    pub(crate) fn read(root: &Path, name: &str) -> io::Result<Self> {
        let src = root.join(name).join("src");
        let mut files = Vec::new();
        rust_files(&src, &mut files)?;
        files.sort();
        let (mut modules, mut lines) = (Vec::new(), 0);
        for file in files {
            let text = fs::read_to_string(&file)?;
            lines += text.lines().count();
            let inside = file.strip_prefix(&src).expect("the file lies below src");
            let Some(path) = module_path(inside) else { continue };
            let code = source::code_of(&text);
            modules.push(Module {
                file: format!("{name}/src/{}", inside.display()),
                path,
                definitions: source::definitions(&code),
                imports: source::imports(&code),
                inline: source::inline_paths(&code),
            });
        }
        Ok(Self::new(name, modules, lines))
    }

    fn new(name: &str, modules: Vec<Module>, lines: usize) -> Self {
        let by_path = modules.iter().enumerate().map(|(at, m)| (m.path.clone(), at)).collect();
        Self { name: name.to_owned(), modules, by_path, lines }
    }

    /// For each module the other modules whose items it names, re-exports followed to the file that
    /// defines the item.
    pub(crate) fn edges(&self) -> Vec<BTreeSet<usize>> {
        let named = |from: usize| {
            let module = &self.modules[from];
            let imports = module.imports.iter().map(|import| import.path.as_slice());
            let inline = module.inline.iter().map(Vec::as_slice).filter(|path| {
                // A name that an import brought in was counted with the import.
                matches!(path[0].as_str(), "crate" | "self" | "super")
                    || self.child(from, &path[0]).is_some()
            });
            let targets = imports.chain(inline).flat_map(|path| self.resolve(from, path, 0));
            // A folder's own file and what lies in the folder are one part: the children use its types
            // and it uses the children.
            targets.filter(|target| !module.path.starts_with(&self.modules[*target].path)).collect()
        };
        (0..self.modules.len()).map(named).collect()
    }

    fn child(&self, of: usize, name: &str) -> Option<usize> {
        let mut path = self.modules[of].path.clone();
        path.push(name.to_owned());
        self.by_path.get(&path).copied()
    }

    fn parent(&self, of: usize) -> Option<usize> {
        let mut path = self.modules[of].path.clone();
        path.pop()?;
        self.by_path.get(&path).copied()
    }

    /// The files that define what `path` names, seen from module `from`.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Vec<usize> {
        let mut rest = path;
        let mut at = match rest.first().map(String::as_str) {
            Some("crate") => self.by_path.get(&Vec::new()).copied(),
            Some("self") => Some(from),
            Some("super") => self.parent(from),
            Some(first) => match self.child(from, first) {
                Some(child) => Some(child),
                None => return self.through(from, path, depth),
            },
            None => None,
        };
        rest = &rest[1.min(rest.len())..];
        while let Some(module) = at {
            match rest.first().map(String::as_str) {
                None => return vec![module],
                Some("super") => at = self.parent(module),
                Some(name) => match self.child(module, name) {
                    Some(child) => at = Some(child),
                    None => return self.item(module, rest, depth),
                },
            }
            rest = &rest[1..];
        }
        Vec::new()
    }

    /// The files that define the item at the beginning of `rest`, seen in `module`.
    fn item(&self, module: usize, rest: &[String], depth: usize) -> Vec<usize> {
        let is_own = |d: &Definition| d.is_outermost && d.name == rest[0];
        if depth > 8 || self.modules[module].definitions.iter().any(is_own) {
            return vec![module];
        }
        let found = self.through(module, rest, depth);
        if found.is_empty() { vec![module] } else { found }
    }

    /// What the imports of `module` say of the name at the beginning of `rest`.
    fn through(&self, module: usize, rest: &[String], depth: usize) -> Vec<usize> {
        if depth > 8 {
            return Vec::new();
        }
        let imports = &self.modules[module].imports;
        // A `use` whose path begins with the name itself is of another crate.
        let is_it = |import: &&Import| {
            import.name == rest[0] && (import.path[0] != rest[0] || import.path.len() > 1)
        };
        let Some(import) = imports.iter().find(is_it) else {
            return Vec::new();
        };
        let mut path = import.path.clone();
        path.extend(rest[1..].iter().cloned());
        if path.as_slice() == rest {
            return Vec::new();
        }
        self.resolve(module, &path, depth + 1)
    }
}

/// The module of a file below `src`; `None` for files of tests and for other programs.
fn module_path(inside: &Path) -> Option<Vec<String>> {
    let mut path: Vec<String> =
        inside.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.iter().any(|part| part == "tests" || part == "bin") {
        return None;
    }
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        path.pop();
    }
    Some(path)
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, text: &str) -> Module {
        let code = source::code_of(text);
        Module {
            file: path.to_owned(),
            path: path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            definitions: source::definitions(&code),
            imports: source::imports(&code),
            inline: source::inline_paths(&code),
        }
    }

    /// `files` are pairs of module path and text; `expected` are pairs of module paths.
    fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let modules = files.iter().map(|(path, text)| module(path, text)).collect();
        let krate = Crate::new("c", modules, 0);
        let edges = krate.edges();
        let name = |at: usize| krate.modules[at].file.as_str();
        let found: Vec<(&str, &str)> = edges
            .iter()
            .enumerate()
            .flat_map(|(from, to)| to.iter().map(move |to| (name(from), name(*to))))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_item_is_found_where_it_is_defined() {
        check(
            &[
                ("", "mod a; mod b;\npub use a::A;\nuse std::fmt;"),
                ("a", "pub struct A;"),
                ("b", "use crate::A;\nuse crate::a;\nfn f() { a::g() }"),
                ("b::c", "use super::super::a::A;\nfn f() { crate::b::f() }"),
            ],
            &[("", "a"), ("b", "a"), ("b::c", "a")],
        );
    }

    #[test]
    fn names_of_ancestors_other_crates_and_tests_are_no_edges() {
        check(
            &[
                ("", "use a::{self as other, B};\nuse serde::Serialize;\nstruct Own;"),
                ("b", "use super::Own;\n#[cfg(test)]\nmod tests { use crate::c::D; }"),
                ("c", "use super::missing::Item;"),
            ],
            &[],
        );
    }
}
