//! MPS, free or fixed, with names without white space.

use std::collections::HashMap;

use dashu::rational::RBig;

use super::model::{Bounds, Malformed, Model, OpenTerms, Row, decimal};

/// What is known of a row before the right-hand sides are.
struct Draft {
    kind: char,
    terms: OpenTerms,
    right: RBig,
    range: Option<RBig>,
}

#[derive(Default)]
struct Reader {
    model: Model,
    rows: Vec<Draft>,
    names: HashMap<String, usize>,
    objective: Option<String>,
    goal: OpenTerms,
    in_integers: bool,
}

pub(super) fn read(text: &str) -> Result<Model, Malformed> {
    let mut reader = Reader::default();
    let mut section = "";
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('*') || line.trim().is_empty() {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let starts = !line.starts_with([' ', '\t']);
        let read = if starts {
            section = words[0];
            match (section, words.get(1)) {
                ("ENDATA", _) => break,
                ("OBJSENSE", Some(sense)) => reader.sense(sense),
                ("NAME" | "ROWS" | "COLUMNS" | "RHS" | "RANGES" | "BOUNDS" | "OBJSENSE", _) => {
                    Ok(())
                }
                _ => Err(format!("the section '{section}' is not read")),
            }
        } else {
            reader.line(section, &words)
        };
        read.map_err(|message| Malformed::new(index + 1, message))?;
    }
    reader.finish().map_err(|message| Malformed::new(1, message))
}

fn value(word: &str) -> Result<RBig, String> {
    decimal(word).ok_or_else(|| format!("'{word}' is no number"))
}

impl Reader {
    fn sense(&mut self, sense: &str) -> Result<(), String> {
        self.model.maximise = match sense.to_ascii_uppercase().as_str() {
            "MAX" | "MAXIMIZE" => true,
            "MIN" | "MINIMIZE" => false,
            _ => return Err(format!("'{sense}' is neither MIN nor MAX")),
        };
        Ok(())
    }

    fn line(&mut self, section: &str, words: &[&str]) -> Result<(), String> {
        match section {
            "OBJSENSE" => self.sense(words[0]),
            "ROWS" => self.row(words),
            "COLUMNS" => self.column(words),
            "RHS" | "RANGES" => {
                // The name of the vector may be left out.
                let pairs = if words.len() % 2 == 1 { &words[1..] } else { words };
                pairs.chunks_exact(2).try_for_each(|pair| self.right(section, pair[0], pair[1]))
            }
            "BOUNDS" => self.bound(words),
            _ => Err("a line outside of any section".to_owned()),
        }
    }

    fn row(&mut self, words: &[&str]) -> Result<(), String> {
        let [kind, name] = words else { return Err("a row is a kind and a name".to_owned()) };
        let kind = match *kind {
            "N" if self.objective.is_none() => {
                self.objective = Some((*name).to_owned());
                return Ok(());
            }
            "L" => '<',
            "G" => '>',
            "E" => '=',
            // A second objective is ignored.
            "N" => 'N',
            other => return Err(format!("'{other}' is no kind of row")),
        };
        if self.names.insert((*name).to_owned(), self.rows.len()).is_some() {
            return Err(format!("the row '{name}' is there twice"));
        }
        let terms = OpenTerms::default();
        self.rows.push(Draft { kind, terms, right: RBig::ZERO, range: None });
        Ok(())
    }

    fn column(&mut self, words: &[&str]) -> Result<(), String> {
        if words.get(1) == Some(&"'MARKER'") {
            self.in_integers = words.get(2) == Some(&"'INTORG'");
            return Ok(());
        }
        let (name, pairs) = words.split_first().ok_or("an empty line")?;
        if pairs.is_empty() || pairs.len() % 2 == 1 {
            return Err("a column is a name and pairs of row and number".to_owned());
        }
        let variable = self.model.variable(name)?;
        self.model.variables[variable].is_integer |= self.in_integers;
        for pair in pairs.chunks_exact(2) {
            let factor = value(pair[1])?;
            if Some(pair[0]) == self.objective.as_deref() {
                self.goal.add(variable, factor);
            } else {
                self.draft(pair[0])?.terms.add(variable, factor);
            }
        }
        Ok(())
    }

    fn draft(&mut self, name: &str) -> Result<&mut Draft, String> {
        let row = self.names.get(name).ok_or_else(|| format!("there is no row '{name}'"))?;
        Ok(&mut self.rows[*row])
    }

    fn right(&mut self, section: &str, name: &str, word: &str) -> Result<(), String> {
        let number = value(word)?;
        if section == "RANGES" {
            self.draft(name)?.range = Some(number);
        } else if Some(name) == self.objective.as_deref() {
            self.model.constant = -number;
        } else {
            self.draft(name)?.right = number;
        }
        Ok(())
    }

    fn bound(&mut self, words: &[&str]) -> Result<(), String> {
        let kind = words[0];
        let is_bare = matches!(kind, "FR" | "MI" | "PL" | "BV");
        // The name of the vector may be left out.
        let (name, number) = match (words, is_bare) {
            ([_, _, name] | [_, name] | [_, _, name, _], true) => (*name, None),
            ([_, _, name, number] | [_, name, number], false) => (*name, Some(value(number)?)),
            _ => return Err("a bound is a kind, a variable and a number".to_owned()),
        };
        let variable =
            self.model.known(name).ok_or_else(|| format!("there is no column '{name}'"))?;
        let variable = &mut self.model.variables[variable];
        variable.is_integer |= matches!(kind, "BV" | "LI" | "UI");
        let own = &mut variable.bounds;
        match kind {
            "UP" | "UI" => {
                if number.as_ref().is_some_and(|high| *high < RBig::ZERO)
                    && own.low == Some(RBig::ZERO)
                {
                    // Solvers disagree whether the lower bound of 0 is then dropped.
                    return Err(format!("'{name}' has a negative upper bound and no lower one"));
                }
                own.high = number;
            }
            "LO" | "LI" => own.low = number,
            "FX" => *own = Bounds { low: number.clone(), high: number },
            "FR" => *own = Bounds::default(),
            "MI" => own.low = None,
            "PL" => own.high = None,
            "BV" => *own = Bounds { low: Some(RBig::ZERO), high: Some(RBig::ONE) },
            other => return Err(format!("'{other}' is no kind of bound")),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Model, String> {
        if self.objective.is_none() {
            return Err("there is no row of kind N".to_owned());
        }
        self.model.objective = self.goal.into_terms();
        for draft in self.rows {
            let Draft { kind, terms, right, range } = draft;
            let low = |range: RBig| Some(&right - range);
            let high = |range: RBig| Some(&right + range);
            let size =
                |range: &RBig| if *range < RBig::ZERO { -range.clone() } else { range.clone() };
            let bounds = match (kind, range) {
                ('<', range) => Bounds {
                    low: range.and_then(|range| low(size(&range))),
                    high: Some(right.clone()),
                },
                ('>', range) => Bounds {
                    low: Some(right.clone()),
                    high: range.and_then(|range| high(size(&range))),
                },
                ('=', None) => Bounds { low: Some(right.clone()), high: Some(right.clone()) },
                ('=', Some(range)) if range < RBig::ZERO => {
                    Bounds { low: high(range), high: Some(right.clone()) }
                }
                ('=', Some(range)) => Bounds { low: Some(right.clone()), high: high(range) },
                _ => continue,
            };
            self.model.add_row(Row { terms: terms.into_terms(), bounds })?;
        }
        Ok(self.model)
    }
}
