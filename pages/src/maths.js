"use strict";

// LaTeX of answers to MathML: fractions, roots, scripts, fences, matrices, cases, accents, functions, symbols.
// `maths(text)` is a <math> element, or null where the text has anything else or nothing that marks it as LaTeX; a
// caller then shows it as it is written. A library would take more than the whole page may have (KaTeX: 270 kB and its fonts).

const MATHML = "http://www.w3.org/1998/Math/MathML";

// A command and its character, with blanks between pairs.
const pairs = (text) => new Map(text.trim().split(/\s+/).map((pair) => pair.split(":")));

const IDENTIFIERS = pairs(`alpha:α beta:β gamma:γ delta:δ epsilon:ϵ varepsilon:ε zeta:ζ eta:η theta:θ vartheta:ϑ
  iota:ι kappa:κ lambda:λ mu:μ nu:ν xi:ξ pi:π rho:ρ sigma:σ tau:τ upsilon:υ phi:ϕ varphi:φ chi:χ psi:ψ omega:ω
  Gamma:Γ Delta:Δ Theta:Θ Lambda:Λ Xi:Ξ Pi:Π Sigma:Σ Phi:Φ Psi:Ψ Omega:Ω infty:∞ emptyset:∅ varnothing:∅ ell:ℓ
  partial:∂ nabla:∇ hbar:ℏ Re:ℜ Im:ℑ aleph:ℵ`);

const OPERATORS = pairs(`cdot:⋅ times:× div:÷ pm:± mp:∓ ast:∗ star:⋆ circ:∘ bullet:• oplus:⊕ otimes:⊗ le:≤ leq:≤
  leqslant:≤ ge:≥ geq:≥ geqslant:≥ ne:≠ neq:≠ lt:< gt:> equiv:≡ approx:≈ sim:∼ simeq:≃ cong:≅ propto:∝ in:∈ notin:∉
  ni:∋ subset:⊂ subseteq:⊆ supset:⊃ supseteq:⊇ cup:∪ cap:∩ setminus:∖ mid:∣ nmid:∤ parallel:∥ perp:⊥ angle:∠
  triangle:△ to:→ rightarrow:→ leftarrow:← Rightarrow:⇒ Leftarrow:⇐ iff:⇔ Leftrightarrow:⇔ implies:⟹ mapsto:↦
  forall:∀ exists:∃ neg:¬ land:∧ wedge:∧ lor:∨ vee:∨ ldots:… dots:… cdots:⋯ vdots:⋮ ddots:⋱ sum:∑ prod:∏ int:∫
  oint:∮ lfloor:⌊ rfloor:⌋ lceil:⌈ rceil:⌉ langle:⟨ rangle:⟩ lbrace:{ rbrace:} vert:| lvert:| rvert:| Vert:‖
  lVert:‖ rVert:‖ backslash:\\ prime:′ degree:°`);

const FUNCTIONS = new Set(`sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp det dim gcd lcm
  lim max min sup inf mod arg deg ker Pr`.split(/\s+/));

const TEXTS = new Set("text textbf textit textrm mathrm mathbf mathit mathsf operatorname mbox boldsymbol".split(" "));
const FRACTIONS = new Set(["frac", "dfrac", "tfrac", "cfrac"]);
const ACCENTS = pairs("overline:¯ bar:¯ hat:^ widehat:^ vec:→ overrightarrow:→ tilde:~ dot:˙");
const IGNORED = new Set("displaystyle textstyle limits nolimits big Big bigg Bigg bigl bigr Bigl Bigr".split(" "));
const SPACES = new Set(["quad", "qquad", ",", ";", ":", "!", " ", ">"]);
const DOUBLE_STRUCK = { C: "ℂ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" };
const MATRICES = { matrix: "", pmatrix: "()", bmatrix: "[]", Bmatrix: "{}", vmatrix: "||", cases: "{", array: "" };

const LONGEST_MATHS = 2000;
const DEEPEST_MATHS = 50;

class NotMaths extends Error {}

// A command, an exponent, or dollar signs around the whole: without one a text may as well be words, a unit or a name.
const MARKED_MATHS = /\\[a-zA-Z{]|\^|^\s*\$.*\$\s*$/s;
// A short word beside another, or behind a number, is text too; in a group of text it keeps its blanks.
const LOOSE_WORDS = /(^|\s)\p{L}{2,3}\s+\p{L}|[\d)}]\s+\p{L}{2,3}(?![\p{L}(])/u;
const TEXT_GROUP = /\\(text\w*|math\w+|operatorname|mbox)\s*\{[^{}]*\}/g;

function maths(latex) {
  if (!MARKED_MATHS.test(latex)) return null;
  const text = latex.trim().replace(/^\$+|\$+$/g, "").trim();
  // A word is no product of variables.
  if (text === "" || text.length > LONGEST_MATHS || /^\p{L}{2,}$/u.test(text) || LOOSE_WORDS.test(text.replace(TEXT_GROUP, ""))) {
    return null;
  }
  try {
    const reader = new MathsReader(text);
    const math = node("math", reader.row(() => reader.at === reader.tokens.length));
    math.setAttribute("displaystyle", "true");
    math.setAttribute("aria-label", text);
    return math;
  } catch (error) {
    if (error instanceof NotMaths) return null;
    throw error;
  }
}

function node(name, ...children) {
  const made = document.createElementNS(MATHML, name);
  made.append(...children);
  return made;
}

class MathsReader {
  constructor(text) {
    this.tokens = text.match(/\\[a-zA-Z]+|\\[\s\S]|\d+(?:\.\d+)?|\.\d+|\p{L}+|\s+|[\s\S]/gu);
    this.at = 0;
    this.depth = 0;
  }

  next() {
    const token = this.tokens[this.at];
    if (token === undefined) throw new NotMaths();
    this.at += 1;
    return token;
  }

  skipBlanks() {
    while (/^\s+$/.test(this.tokens[this.at] ?? "")) this.at += 1;
  }

  takes(token) {
    this.skipBlanks();
    const found = this.tokens[this.at] === token;
    if (found) this.at += 1;
    return found;
  }

  row(isOver) {
    this.depth += 1;
    if (this.depth > DEEPEST_MATHS) throw new NotMaths();
    const row = node("mrow");
    for (this.skipBlanks(); !isOver(); this.skipBlanks()) {
      const atom = this.scripted();
      if (atom) row.append(atom);
    }
    this.depth -= 1;
    return row;
  }

  scripted() {
    const base = this.atom() ?? node("mrow");
    let below = null, above = null;
    for (;;) {
      if (above === null && this.takes("^")) above = this.argument();
      else if (below === null && this.takes("_")) below = this.argument();
      else break;
    }
    if (above && below) return node("msubsup", base, below, above);
    if (above) return node("msup", base, above);
    return below ? node("msub", base, below) : base;
  }

  /** A group between braces, or one token. */
  argument() {
    if (this.takes("{")) return this.group();
    this.skipBlanks();
    const token = this.tokens[this.at] ?? "";
    if (/^(\d{2,}|\p{L}{2,})$/u.test(token)) {
      // Without braces an argument is one character.
      this.tokens.splice(this.at, 1, ...token);
    }
    return this.atom() ?? node("mrow");
  }

  group() {
    const row = this.row(() => this.tokens[this.at] === "}" || this.at === this.tokens.length);
    if (this.next() !== "}") throw new NotMaths();
    return row;
  }

  /** The characters between braces. */
  plain() {
    if (!this.takes("{")) throw new NotMaths();
    let text = "";
    for (let token = this.next(); token !== "}"; token = this.next()) {
      if (token === "{" || (token[0] === "\\" && /\w/.test(token))) throw new NotMaths();
      text += token[0] === "\\" ? token.slice(1) : token;
    }
    return text;
  }

  atom() {
    const token = this.next();
    if (token[0] === "\\" && token.length > 1) return this.command(token.slice(1));
    if (token === "{") return this.group();
    if (/^[\d.]/.test(token) && token !== ".") return node("mn", token);
    if (/^\p{L}/u.test(token)) return this.letters(token);
    if ("^_}&#\\".includes(token)) throw new NotMaths();
    return node("mo", token === "-" ? "−" : token === "*" ? "∗" : token === "'" ? "′" : token);
  }

  /** Products of variables; a word is text and no maths. */
  letters(token) {
    if (FUNCTIONS.has(token)) return node("mi", token);
    if (token.length > 3) throw new NotMaths();
    const letters = [...token].map((letter) => node("mi", letter));
    if (letters.length > 1) {
      // A script belongs to the last letter.
      this.at -= 1;
      this.tokens.splice(this.at, 1, ...[...token].slice(1));
    }
    return letters[0];
  }

  command(name) {
    if (IDENTIFIERS.has(name)) return node("mi", IDENTIFIERS.get(name));
    if (OPERATORS.has(name)) return node("mo", OPERATORS.get(name));
    if (FUNCTIONS.has(name)) return node("mi", name);
    if (IGNORED.has(name)) return null;
    if (SPACES.has(name)) return node("mtext", " ");
    if (FRACTIONS.has(name)) return node("mfrac", this.argument(), this.argument());
    if (TEXTS.has(name)) return node("mtext", this.plain());
    if (ACCENTS.has(name)) return node("mover", this.argument(), node("mo", ACCENTS.get(name)));
    if ("{}%$#&_|".includes(name)) return node("mo", name === "|" ? "‖" : name);
    switch (name) {
      case "sqrt": return this.root();
      case "left": case "right": return this.fence();
      case "mathbb": return node("mi", DOUBLE_STRUCK[this.plain()] ?? this.fail());
      case "binom": return node("mrow", node("mo", "("), this.stacked(), node("mo", ")"));
      case "pmod": return node("mrow", node("mtext", " (mod "), this.argument(), node("mtext", ")"));
      case "bmod": return node("mo", "mod");
      case "boxed": return this.argument();
      case "begin": return this.table(this.plain());
      default: return this.fail();
    }
  }

  fail() {
    throw new NotMaths();
  }

  root() {
    if (!this.takes("[")) return node("msqrt", this.argument());
    const index = this.row(() => this.tokens[this.at] === "]" || this.at === this.tokens.length);
    if (this.next() !== "]") throw new NotMaths();
    return node("mroot", this.argument(), index);
  }

  fence() {
    this.skipBlanks();
    const token = this.next();
    if (token === ".") return null;
    const fence = token[0] === "\\" ? OPERATORS.get(token.slice(1)) ?? token.slice(1) : token;
    return node("mo", fence);
  }

  stacked() {
    const fraction = node("mfrac", this.argument(), this.argument());
    fraction.setAttribute("linethickness", "0");
    return fraction;
  }

  table(kind) {
    const fences = MATRICES[kind];
    if (fences === undefined) throw new NotMaths();
    if (kind === "array") this.plain();
    const table = node("mtable");
    for (let isLast = false; !isLast;) {
      const line = node("mtr");
      for (let ended = ""; ended !== "\\\\" && !isLast;) {
        const cell = this.row(() => ["&", "\\\\", "\\end", undefined].includes(this.tokens[this.at]));
        line.append(node("mtd", cell));
        ended = this.next();
        isLast = ended === "\\end";
      }
      if (line.textContent !== "" || !isLast) table.append(line);
    }
    if (this.plain() !== kind) throw new NotMaths();
    const row = node("mrow", table);
    if (fences[0]) row.prepend(node("mo", fences[0]));
    if (fences[1]) row.append(node("mo", fences[1]));
    return row;
  }
}
