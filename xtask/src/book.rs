//! The documents as a site with search, by [mdBook](https://rust-lang.github.io/mdBook/). Its table
//! of contents is made of `docs/README.md`, so that there is one list of pages.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

use crate::cargo;

/// The pages beside the folder `docs`.
const BESIDE: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

/// Folders of pages, and the page that each is listed below.
const FOLDERS: [(&str, &str); 2] = [("scorers", "scorers.md"), ("adr", "")];

const CONFIG: &str = "\
[book]
title = \"Tribunal\"
src = \"src\"

[output.html]
no-section-label = true
";

/// The command `book`.
pub(crate) fn run() -> ExitCode {
    match build() {
        Ok(site) => {
            println!("wrote {}", site.join("index.html").display());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<PathBuf, String> {
    let book = cargo::root().join("target/book");
    stage(cargo::root(), &book).map_err(|error| format!("{}: {error}", book.display()))?;
    let site = book.join("site");
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(&book).arg("--dest-dir").arg(&site);
    cargo::run(&mut mdbook)
        .map_err(|why| format!("mdbook: {why}; `cargo install mdbook --locked` installs it"))?;
    Ok(site)
}

/// Lays out the book's sources below `book`.
fn stage(root: &Path, book: &Path) -> io::Result<()> {
    if book.exists() {
        fs::remove_dir_all(book)?;
    }
    let src = book.join("src");
    fs::create_dir_all(&src)?;
    for page in BESIDE {
        copy(&root.join(page), &src.join(page))?;
    }
    copy(&root.join("docs"), &src.join("docs"))?;
    for (folder, _) in FOLDERS {
        let pages = titles(&root.join("docs").join(folder))?;
        let lines = pages.iter().map(|(name, title)| format!("- [{title}]({name})\n"));
        let index = format!("# {}\n\n{}", heading(folder), lines.collect::<String>());
        fs::write(src.join("docs").join(folder).join("README.md"), index)?;
    }
    fs::write(src.join("SUMMARY.md"), summary(root)?)?;
    fs::write(book.join("book.toml"), CONFIG)
}

/// Copies a file or a folder. A link to a folder leads to its index.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    if from.extension().is_none_or(|kind| kind != "md") {
        return fs::copy(from, to).map(drop);
    }
    let mut text = fs::read_to_string(from)?;
    for (folder, _) in FOLDERS {
        for link in [folder.to_owned(), format!("docs/{folder}")] {
            text = text.replace(&format!("]({link})"), &format!("]({link}/README.md)"));
        }
    }
    fs::write(to, text)
}

/// The table of contents: the parts and rows of `docs/README.md` under the titles of their pages.
fn summary(root: &Path) -> io::Result<String> {
    let mut summary =
        String::from("# Summary\n\n[Tribunal](README.md)\n[Documents](docs/README.md)\n");
    let index = fs::read_to_string(root.join("docs/README.md"))?;
    for line in index.lines() {
        if let Some(part) = line.strip_prefix("## ") {
            write!(summary, "\n# {part}\n\n").expect("memory takes it");
        }
        let row = line.strip_prefix("| [").and_then(|rest| rest.split_once("]("));
        let Some((page, _)) = row.and_then(|(_, rest)| rest.split_once(')')) else {
            continue;
        };
        let title = title(&root.join("docs").join(page))?;
        writeln!(summary, "- [{title}](docs/{page})").expect("memory takes it");
        for (folder, _) in FOLDERS.iter().filter(|(_, above)| *above == page) {
            summary.push_str(&chapters(root, folder, "  ")?);
        }
    }
    summary.push_str("\n# Change\n\n");
    for page in BESIDE.into_iter().skip(1).chain(["docs/GLOSSARY.md", "docs/LOG.md"]) {
        writeln!(summary, "- [{}]({page})", title(&root.join(page))?).expect("memory takes it");
    }
    for (folder, _) in FOLDERS.iter().filter(|(_, above)| above.is_empty()) {
        writeln!(summary, "- [{}](docs/{folder}/README.md)", heading(folder))
            .expect("memory takes it");
        summary.push_str(&chapters(root, folder, "  ")?);
    }
    Ok(summary)
}

/// The pages of a folder of `docs` as chapters.
fn chapters(root: &Path, folder: &str, indent: &str) -> io::Result<String> {
    let pages = titles(&root.join("docs").join(folder))?;
    let line =
        |(name, title): &(String, String)| format!("{indent}- [{title}](docs/{folder}/{name})\n");
    Ok(pages.iter().map(line).collect())
}

fn heading(folder: &str) -> &'static str {
    if folder == "adr" { "Decisions" } else { "Scorers" }
}

/// Names and titles of the pages of a folder, by name.
fn titles(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|kind| kind == "md") && name != "README.md" {
            let title = title(&folder.join(&name))?;
            pages.push((name, title));
        }
    }
    pages.sort();
    Ok(pages)
}

/// The first heading of a page, without the marks of code.
fn title(page: &Path) -> io::Result<String> {
    let text = fs::read_to_string(page)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", page.display())))?;
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let heading = heading.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: no heading", page.display()))
    })?;
    Ok(heading.replace(['`', '[', ']'], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Markdown files below a folder, as paths relative to `root`.
    fn pages(root: &Path, folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder exists");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let found = paths.flat_map(|path| {
            if path.is_dir() {
                return pages(root, &path);
            }
            let name = path.strip_prefix(root).expect("it lies below").to_string_lossy();
            let is_page = path.extension().is_some_and(|kind| kind == "md");
            if is_page { vec![name.into_owned()] } else { Vec::new() }
        });
        found.collect()
    }

    #[test]
    fn every_page_is_a_chapter_once_and_links_to_folders_have_an_index() {
        let root = cargo::root();
        let book = root.join("target/tmp-book");
        stage(root, &book).expect("it is written");
        let src = book.join("src");
        let summary = fs::read_to_string(src.join("SUMMARY.md")).expect("it was written");
        let links = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let mut chapters: Vec<String> = links.map(str::to_owned).collect();
        chapters.sort();
        let mut expected = pages(&src, &src);
        expected.retain(|page| page != "SUMMARY.md" && page != "docs/scorers/README.md");
        expected.sort();
        assert_eq!(chapters, expected);
        let contributing = fs::read_to_string(src.join("CONTRIBUTING.md")).expect("it was copied");
        assert!(contributing.contains("(docs/adr/README.md)"), "{contributing}");
        fs::remove_dir_all(book).expect("it is removed");
    }
}
