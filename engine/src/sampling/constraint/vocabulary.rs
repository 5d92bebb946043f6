//! A model's tokens as bytes, for grammars.

use std::fmt;
use std::sync::Arc;

use chat::Tokenizer;
use llguidance::toktrie::{
    ApproximateTokEnv, INVALID_TOKEN, InferenceCapabilities, SimpleVob, TokEnv, TokRxInfo, TokTrie,
};
use llguidance::{Matcher, ParserFactory};

use super::grammar::{Constraint, ConstraintError, Grammar};
use super::guidance::{Guided, sentence};
use super::limits;

/// The longest token in bytes that a grammar can use; llguidance's trie holds up to 1,024.
const MAX_TOKEN_BYTES: usize = 1000;
/// Stack size for compilation; memory is committed as it is used.
const STACK: usize = 32 << 20;
/// A byte that is never part of UTF-8, which llguidance uses as a marker.
const MARK: u8 = 0xff;

/// A model's tokens as bytes in a trie, against which grammars are matched. Built once per model
/// and shared.
pub struct Vocabulary {
    factory: ParserFactory,
    /// Text tokens and end tokens.
    allowed: Arc<SimpleVob>,
    /// End tokens.
    ends: Vec<u32>,
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_tokens = self.allowed.len();
        f.debug_struct("Vocabulary").field("n_tokens", &n_tokens).finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// The tokens of a tokenizer, up to the number of a model's logits. Takes about a second for a
    /// large vocabulary.
    ///
    /// A text ends with one of [`Tokenizer::eos_ids`], or where nothing can follow if there are
    /// none; other special tokens are never allowed under a grammar.
    ///
    /// # Errors
    /// [`ConstraintError::Grammar`] if llguidance cannot use the vocabulary.
    pub fn new(tokenizer: &Tokenizer, vocab_size: usize) -> Result<Vocabulary, ConstraintError> {
        let ids = 0..u32::try_from(vocab_size).unwrap_or(u32::MAX);
        let bytes = |id| tokenizer.token_bytes(id).filter(|_| !tokenizer.is_special(id));
        let tokens = ids.map(|id| bytes(id).unwrap_or_default());
        Self::of(tokens.collect(), tokenizer.eos_ids())
    }

    /// A vocabulary of these tokens by id; a token without bytes is never part of a text.
    pub(super) fn of(
        mut tokens: Vec<Vec<u8>>,
        eos_ids: &[u32],
    ) -> Result<Vocabulary, ConstraintError> {
        let mut allowed = SimpleVob::alloc(tokens.len());
        for (id, bytes) in (0..).zip(&mut tokens) {
            if bytes.len() > MAX_TOKEN_BYTES || bytes.first() == Some(&MARK) {
                bytes.clear();
            }
            if !bytes.is_empty() {
                allowed.allow_token(id);
            }
        }
        let n_tokens = u32::try_from(tokens.len()).unwrap_or(INVALID_TOKEN);
        let mut ends = eos_ids.to_vec();
        ends.retain(|id| *id < n_tokens);
        for id in &ends {
            allowed.allow_token(*id);
        }
        let first = ends.first().copied().unwrap_or(INVALID_TOKEN);
        let mut trie = TokTrie::from(&TokRxInfo::new(n_tokens, first), &tokens);
        if !ends.is_empty() {
            trie = trie.with_eos_tokens(&ends);
        }
        let tokens: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let capabilities = InferenceCapabilities::default();
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let factory = ParserFactory::new(&tokens, capabilities, &slices);
        let mut factory = factory.map_err(|e| ConstraintError::Grammar(e.to_string()))?;
        factory.quiet();
        *factory.limits_mut() = limits::PARSER;
        Ok(Vocabulary { factory, allowed: Arc::new(allowed), ends })
    }

    /// Compiles a grammar into a constraint at the beginning of a text. Blocks for some tens of
    /// milliseconds.
    ///
    /// # Errors
    /// [`ConstraintError::Grammar`], with the place in the grammar if known.
    pub fn compile(&self, grammar: &Grammar) -> Result<Box<dyn Constraint>, ConstraintError> {
        let checked = limits::checked(grammar).map_err(ConstraintError::Grammar)?;
        let parse = || {
            let parser = self.factory.create_parser(checked);
            let parser = parser.map_err(|e| ConstraintError::Grammar(format!("{e:#}")))?;
            let mut guided = Guided::new(Matcher::new(Ok(parser)), self.allowed.clone());
            guided.mask()?;
            Ok(guided)
        };
        let mut guided = with_large_stack(parse)?.map_err(|e| {
            ConstraintError::Grammar(match e {
                ConstraintError::DeadEnd => "no text satisfies the grammar".to_owned(),
                ConstraintError::Stopped(message) | ConstraintError::Grammar(message) => {
                    explain(grammar, &message)
                }
            })
        })?;
        let first = guided.mask()?;
        let ends = self.ends.iter().filter(|id| first.allows(**id)).count();
        let all: u32 = first.words().iter().map(|word| word.count_ones()).sum();
        if usize::try_from(all) == Ok(ends) {
            let empty = "no text but the empty one satisfies the grammar".to_owned();
            return Err(ConstraintError::Grammar(empty));
        }
        Ok(Box::new(guided))
    }
}

/// Runs `work` on a thread with a large stack: compilation is recursive, and the caller's stack may
/// be as small as an async worker's.
fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, ConstraintError> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let thread = builder.spawn_scoped(scope, work);
        let thread = thread.map_err(|e| ConstraintError::Stopped(e.to_string()))?;
        let done = thread.join();
        done.map_err(|_| ConstraintError::Stopped("the compiler failed".to_owned()))
    })
}

/// An error message about a grammar, from llguidance's.
fn explain(grammar: &Grammar, message: &str) -> String {
    let sentence = sentence(message);
    match grammar {
        // llguidance reports places in the grammar that it wraps the expression in.
        Grammar::Regex(_) => {
            let error = message.lines().find_map(|line| line.strip_prefix("error: "));
            let error = error.or_else(|| message.lines().next()?.rsplit("(in regex): ").next());
            format!("the regular expression: {}", error.unwrap_or(&sentence))
        }
        Grammar::JsonSchema(_) if sentence.contains("coerce_one_of") => {
            "oneOf is taken only where no two of its branches can hold at once, as different types \
             or constants show; anyOf is taken anywhere"
                .to_owned()
        }
        Grammar::JsonSchema(_) | Grammar::JsonObject => format!("the schema: {sentence}"),
        Grammar::Choice(_) => format!("the choices: {sentence}"),
        Grammar::Lark(_) => format!("the grammar: {sentence}"),
    }
}
