"use strict";

// Draws a result of POST /v1/score, or a verdict of a scored row, as elements. Texts become text nodes.

const STATUSES = {
  ok: "Scored.",
  abstain: "The scorer cannot decide.",
  refused: "The scorer does not take this input.",
  truncated: "A text was cut, so that a score would not cover all of it.",
  parse_error: "What the judge wrote could not be read.",
  tool_error: "A tool failed.",
  timeout: "The time or work allowed was spent.",
  overloaded: "A queue was full: try again.",
  bad_reference: "The reference is missing or cannot be read.",
  internal_error: "A fault of the server.",
};

// Words for codes that a person meets often; every other code is shown as it is.
const WORDS = {
  // labels
  no_answer: "no answer", not_equal: "not equal", not_compared: "not compared", too_costly: "too costly",
  ok: "all tests passed", wa: "wrong answer", re: "runtime error", tle: "time limit exceeded", mle: "memory limit exceeded",
  ole: "output limit exceeded", ce: "compile error", security: "forbidden system call",
  // where an answer was found
  boxed: "in a box", answer_tag: "in <answer>", hash_marks: "after ####", answer_line: "in a line such as “A: …”",
  answer_phrase: "after a phrase such as “the answer is”", last_number: "as the last number",
  last_formula: "as the last formula", last_words: "as the last words", marked: "after the marker",
  whole: "as the whole visible text",
  // how sure that is
  fallback: "nothing marks an answer", many_candidates: "there are other answers", unclosed_box: "the box is not closed",
  unclosed_tag: "the tag is not closed", approximation_skipped: "without its approximation",
};

// Reasons that have no detail.
const REASONS = {
  no_answer: "The response gives no answer.", answers_question: "It says yes or no to the question.",
  steps_right: "No step is judged wrong.", group_mean: "The mean of the responses.",
};

/** A code in words. */
const inWords = (code) => WORDS[code] ?? code;

/** An element with attributes and children; texts among the children are text nodes. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** The text that spans count in: of messages, that of the last. */
function textOf(content) {
  if (typeof content === "string") return content;
  if (Array.isArray(content) && content.length > 0) {
    const last = content[content.length - 1];
    if (typeof last === "string") return last;
    if (typeof last?.content === "string") return last.content;
  }
  return content === null || content === undefined ? "" : JSON.stringify(content);
}

function shownNumber(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(digits)));
}

/** A bar as long as a score between 0 and 1. */
function bar(score) {
  if (typeof score !== "number") return element("span", { class: "quiet" }, "–");
  const length = element("i");
  length.style.width = `${100 * Math.min(1, Math.max(0, score))}%`;
  const label = shownNumber(score);
  return element("span", { class: score < 0.5 ? "bar lost" : "bar", role: "img", "aria-label": label }, length);
}

function table(heads, rows) {
  const isNumber = (cell) => typeof cell === "number";
  const drawn = (cell) => cell instanceof HTMLTableCellElement ? cell
    : element("td", isNumber(cell) ? {} : { class: "left" }, isNumber(cell) ? shownNumber(cell) : cell ?? "–");
  const head = heads.map((name, at) => element("th", rows.some((row) => isNumber(row[at])) ? {} : { class: "left" },
    name));
  return element("div", { class: "scroll" },
    element("table", {}, element("tr", {}, head), rows.map((cells) => element("tr", {}, cells.map(drawn)))));
}

/** Index of the first step that is wrong, or -1. */
function firstWrong(steps) {
  return (steps ?? []).findIndex((step) => step.label === "wrong"
    || (step.label !== "right" && typeof step.score === "number" && step.score < 0.5));
}

/** The marks of a response: half-open ranges in code points, each with a class and a title. */
function marksOf(verdict) {
  const wrong = firstWrong(verdict.steps);
  const marks = (verdict.steps ?? []).map((step, at) => ({
    span: step.span,
    classes: [typeof step.score === "number" ? "heat" : "unscored", ...(at === wrong ? ["first-wrong"] : [])],
    score: step.score,
    title: `step ${at + 1}: ${step.label}${typeof step.score === "number" ? `, ${shownNumber(step.score)}` : ""}`,
  }));
  for (const note of verdict.spans ?? []) {
    const value = typeof note.value === "number" ? `: ${shownNumber(note.value)}` : "";
    marks.push({ span: note.span, classes: ["span"], title: note.label + value });
  }
  if (verdict.candidate?.span) {
    const { span, source } = verdict.candidate;
    marks.push({ span, classes: ["answer"], title: `the extracted answer${source ? `, found ${inWords(source)}` : ""}` });
  }
  return marks.filter(({ span }) => Array.isArray(span) && span[1] > span[0]);
}

/** A text with its marks, which may overlap: cut at every end of a mark. */
function markedText(text, marks) {
  const points = Array.from(text);
  const cuts = new Set([0, points.length]);
  for (const { span } of marks) for (const end of span) cuts.add(Math.min(end, points.length));
  const ends = [...cuts].sort((a, b) => a - b);
  const pieces = ends.slice(1).map((end, at) => {
    const begin = ends[at];
    const piece = points.slice(begin, end).join("");
    const here = marks.filter(({ span }) => span[0] <= begin && end <= span[1]);
    if (here.length === 0) return piece;
    const mark = element("mark", {
      class: here.flatMap((one) => one.classes).join(" "), title: here.map((one) => one.title).join("; "),
    }, piece);
    const scored = here.find((one) => typeof one.score === "number");
    if (scored) mark.style.setProperty("--score", Math.min(1, Math.max(0, scored.score)));
    return mark;
  });
  return element("div", { class: "marked mono" }, pieces);
}

/** An answer as mathematics where it is some, else as it is written. */
function shownAnswer(text) {
  return maths(text) ?? element("code", {}, text);
}

function sides(candidate, reference) {
  const references = Array.isArray(reference) ? reference
    : reference && typeof reference === "object" ? [JSON.stringify(reference)] : [reference];
  const shown = references.filter((one) => one !== null && one !== undefined && one !== "").map(String);
  const right = shown.flatMap((one, at) => [at > 0 ? " or " : "", shownAnswer(one)]);
  if (!candidate && right.length === 0) return null;
  return element("div", { class: "sides" },
    candidate ? element("div", {}, element("h3", {}, "Extracted answer"), shownAnswer(candidate.text),
      element("p", {}, candidate.source ? `found ${inWords(candidate.source)}` : "",
        candidate.count > 1 ? `, the last of ${candidate.count}` : "",
        candidate.flags?.length ? `; ${candidate.flags.map(inWords).join(", ")}` : "")) : null,
    right.length > 0 ? element("div", {}, element("h3", {}, "Reference"), right) : null);
}

function stepTable(steps) {
  const wrong = firstWrong(steps);
  const found = wrong < 0 ? "No step is judged wrong." : `The first wrong step is step ${wrong + 1}.`;
  const label = (step) => element("span", { class: "name" }, step.label);
  const rows = steps.map((step, at) => [String(at + 1), label(step), step.score, bar(step.score), [
    step.critique ?? "",
    ...(step.equalities ?? []).map((one) => element("span", { class: "indent" }, `${one.text}: ${one.label}`,
      one.detail ? ` (${one.detail})` : "")),
  ]]);
  return [element("h3", {}, "Steps"), element("p", { class: wrong < 0 ? "" : "bad" }, found),
    table(["Step", "Label", "Score", "", ""], rows)];
}

function partTable(parts) {
  const rows = parts.map((part) => [part.name, part.status ?? "not evaluated", part.score, bar(part.score),
    part.weight, reasonText(part.reason)]);
  return [element("h3", {}, "Parts"), table(["Part", "Status", "Score", "", "Weight", "Reason"], rows)];
}

function reasonText(reason) {
  if (!reason) return "";
  return reason.detail ? `${reason.code}: ${reason.detail}` : reason.code;
}

/** Which class a verdict has by its score. */
function standing(verdict) {
  if (typeof verdict.score !== "number") return "";
  return verdict.score >= 0.5 ? "right" : "wrong";
}

/** The head of a verdict: score or status, label, reason. */
function headOf(verdict) {
  const ok = verdict.status === "ok";
  return [
    element("div", {},
      element("span", { class: "score" }, ok ? shownNumber(verdict.score) : verdict.status),
      verdict.label ? element("strong", { title: verdict.label }, inWords(verdict.label)) : null,
      typeof verdict.raw === "number" ? element("span", { class: "quiet" }, ` raw ${shownNumber(verdict.raw)}`) : null),
    ok ? null : element("p", { class: "bad" }, STATUSES[verdict.status] ?? verdict.status),
    verdict.reason ? element("p", {}, verdict.reason.detail ?? REASONS[verdict.reason.code] ?? "", " ",
      element("code", {}, verdict.reason.code)) : null,
  ];
}

/** What was found in one response. */
function drawOne(verdict, text, reference) {
  const marks = marksOf(verdict);
  return element("section", { class: `verdict ${standing(verdict)}` },
    headOf(verdict),
    text.trim() === "" ? element("p", { class: "quiet" }, "The response is empty.") : markedText(text, marks),
    sides(verdict.candidate, reference),
    verdict.steps?.length ? stepTable(verdict.steps) : null,
    verdict.parts?.length ? partTable(verdict.parts) : null,
    drawOutputs(verdict.outputs));
}

function drawOutputs(outputs) {
  if (!outputs?.length) return null;
  return element("details", {}, element("summary", {}, `What the model wrote (${outputs.length})`),
    outputs.map((one) => element("div", {}, element("h3", {}, `${one.role}, ended by ${one.finish}`),
      element("pre", {}, one.text))));
}

/** The probabilities that the response of a row is better than that of a column. */
function againstTable(candidates) {
  if (!candidates.some((one) => one.against)) return null;
  const name = (at) => `Response ${at + 1}`;
  const rows = candidates.map((one, at) => [name(at),
    ...(one.against ?? []).map((value) => shownNumber(value, 3))]);
  return [element("h3", {}, "P(row is better than column)"), table(["", ...candidates.map((_, at) => name(at))], rows)];
}

/**
 * A whole verdict. `input` has `response` or `responses`, and `reference`.
 */
function drawVerdict(verdict, input) {
  if (!verdict.candidates?.length) {
    return drawOne(verdict, textOf(input.response ?? input.responses?.[0]), input.reference);
  }
  const best = verdict.candidates.findIndex((one) => one.rank === 1);
  const members = verdict.candidates.map((one, at) => {
    const drawn = drawOne(one, textOf(input.responses?.[at]), input.reference);
    const rank = one.rank ? `, rank ${one.rank}` : "";
    const relative = typeof one.normalised === "number" ? `, ${shownNumber(one.normalised)} in its group` : "";
    drawn.prepend(element("h3", {}, `Response ${at + 1}${rank}${relative}`));
    return drawn;
  });
  return element("div", {},
    element("section", { class: `verdict ${verdict.status === "ok" ? "" : "wrong"}` }, headOf(verdict),
      best >= 0 ? element("p", {}, `Best: response ${best + 1}.`) : null,
      againstTable(verdict.candidates), drawOutputs(verdict.outputs)),
    element("div", { class: "columns" }, members));
}
