"use strict";

// The view of scored rows: distributions, filters, a table, and each row's verdicts. `showRows` draws it.

const AT_ONCE = 200;
const BINS = 10;
const none = { text: "", status: "", label: "", reason: "", low: "", high: "" };
const view = {};

const verdictOf = (row) => row.scores[view.scorer];
const FIELDS = {
  status: (verdict) => verdict?.status ?? "none",
  label: (verdict) => verdict?.label ?? "none",
  reason: (verdict) => verdict?.reason?.code ?? "none",
};

/** All texts of a row, for the search. */
function textsOf(row) {
  const { prompt, response, responses, reference } = row.input;
  const detail = verdictOf(row)?.reason?.detail ?? "";
  return [row.id, textOf(prompt), textOf(response), ...(responses ?? []).map(textOf),
    typeof reference === "string" ? reference : JSON.stringify(reference ?? ""), detail].join("\n").toLowerCase();
}

function passes(row, filters) {
  const verdict = verdictOf(row);
  const score = verdict?.score;
  const isWithin = (bound, test) => bound === "" || (typeof score === "number" && test(score, Number(bound)));
  return Object.entries(FIELDS).every(([name, read]) => filters[name] === "" || read(verdict) === filters[name])
    && isWithin(filters.low, (a, b) => a >= b) && isWithin(filters.high, (a, b) => a <= b)
    && (filters.text === "" || textsOf(row).includes(filters.text.toLowerCase()));
}

const ORDERS = {
  row: (row) => row.at,
  score: (row) => verdictOf(row)?.score ?? -Infinity,
  reason: (row) => FIELDS.reason(verdictOf(row)),
  length: (row) => textOf(row.input.response ?? row.input.responses?.[0]).length,
};

function ordered(rows) {
  const key = ORDERS[view.by];
  const sign = view.isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    return sign * (x < y ? -1 : x > y ? 1 : 0) || a.at - b.at;
  });
}

function counted(rows, read) {
  const counts = new Map();
  for (const row of rows) counts.set(read(row), (counts.get(read(row)) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || String(a[0]).localeCompare(String(b[0])));
}

function change(filters) {
  view.filters = { ...view.filters, ...filters };
  view.shown = AT_ONCE;
  draw();
}

// ---- distributions ----

function countTable(title, counts, choose) {
  const most = Math.max(...counts.map(([, count]) => count), 1);
  const rows = counts.map(([name, count, choice]) => {
    const button = element("button", { type: "button" }, String(name));
    button.addEventListener("click", () => choose(choice ?? name));
    const length = element("i");
    length.style.width = `${100 * count / most}%`;
    return [button, count, element("td", { class: "wide" }, element("span", { class: "bar" }, length))];
  });
  return element("section", {}, element("h3", {}, title), table(["", "Rows", ""], rows));
}

/** Bins over [0, 1] where all scores lie there, else between the least and the greatest. */
function bins(rows) {
  const scores = rows.map((row) => verdictOf(row)?.score).filter((score) => typeof score === "number");
  if (scores.length === 0) return [];
  const values = [...new Set(scores)].sort((a, b) => a - b);
  if (values.length <= BINS) {
    return values.map((value) => [shownNumber(value), scores.filter((score) => score === value).length,
      { low: String(value), high: String(value) }]);
  }
  const [least, greatest] = [values[0], values[values.length - 1]];
  const [low, high] = least >= 0 && greatest <= 1 ? [0, 1] : [least, greatest];
  const width = (high - low) / BINS;
  const counts = new Array(BINS).fill(0);
  for (const score of scores) counts[Math.min(BINS - 1, Math.floor((score - low) / width))] += 1;
  return counts.map((count, at) => {
    const ends = [low + at * width, low + (at + 1) * width].map((end) => shownNumber(end, 3));
    return [`${ends[0]} to ${ends[1]}`, count, { low: ends[0], high: ends[1] }];
  });
}

function distributions(rows) {
  const scores = rows.map((row) => verdictOf(row)?.score).filter((score) => typeof score === "number");
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const parts = [];
  if (scores.length > 0) {
    parts.push(countTable(`Scores, mean ${shownNumber(mean)}`, bins(rows), (choice) => change(choice)));
  }
  for (const [name, read] of Object.entries(FIELDS)) {
    const counts = counted(rows, (row) => read(verdictOf(row)));
    if (name !== "label" || counts.length > 1) {
      const title = name[0].toUpperCase() + name.slice(1);
      parts.push(countTable(title, counts.slice(0, 12), (choice) => change({ [name]: choice })));
    }
  }
  return element("div", { class: "columns" }, parts);
}

// ---- filters ----

function field(label, control) {
  return element("div", {}, element("label", { for: control.id }, label), control);
}

function select(id, options, chosen, onChange) {
  const made = element("select", { id }, options.map(([value, text]) => element("option",
    { value, selected: value === chosen }, text)));
  made.addEventListener("change", () => onChange(made.value));
  return made;
}

function input(id, type, name) {
  const made = element("input", { id, type, step: "any", value: view.filters[name] });
  made.addEventListener("change", () => change({ [name]: made.value }));
  return made;
}

function filters() {
  const choices = (name) => {
    const counts = counted(view.rows, (row) => FIELDS[name](verdictOf(row)));
    return [["", "any"], ...counts.map(([value, count]) => [value, `${value} (${count})`])];
  };
  const chosen = (name) => select(`filter-${name}`, choices(name), view.filters[name],
    (value) => change({ [name]: value }));
  const reset = element("button", { type: "button" }, "Show all");
  reset.addEventListener("click", () => change(none));
  return element("div", {},
    element("div", { class: "filters" },
      field("Scorer", select("scorer", view.scorers.map((name) => [name, name]), view.scorer, (name) => {
        view.scorer = name;
        change(none);
      })),
      field("Text", input("filter-text", "search", "text")),
      field("Status", chosen("status")), field("Label", chosen("label")), field("Reason", chosen("reason")),
      field("Score from", input("filter-low", "number", "low")), field("Score to", input("filter-high", "number", "high")),
      field("Order by", select("order", [["row", "row"], ["score", "score, lowest first"], ["-score",
        "score, highest first"], ["reason", "reason"], ["-length", "longest response first"]],
      (view.isDown ? "-" : "") + view.by, (value) => {
        [view.isDown, view.by] = [value.startsWith("-"), value.replace("-", "")];
        change({});
      }))),
    element("div", { class: "row" }, reset));
}

// ---- rows ----

function detail(row) {
  const prompt = textOf(row.input.prompt);
  return element("td", { colspan: 8, class: "left" },
    prompt ? [element("h3", {}, "Prompt"), element("div", { class: "marked mono" }, prompt)] : null,
    Object.entries(row.scores).map(([name, verdict]) => [element("h3", {}, name), drawVerdict(verdict, row.input)])
      .flat());
}

function rowLines(row) {
  const verdict = verdictOf(row);
  const button = element("button", { type: "button", "aria-expanded": "false" }, String(row.id ?? row.row));
  const reference = row.input.reference;
  const clip = (text) => element("td", { class: "left clip" }, text.slice(0, 200));
  const line = element("tr", { class: "opens" }, element("td", {}, button),
    element("td", {}, shownNumber(verdict?.score)), element("td", { class: "left" }, FIELDS.status(verdict)),
    element("td", { class: "left" }, FIELDS.reason(verdict)), clip(textOf(row.input.prompt)),
    clip(verdict?.candidate?.text ?? ""),
    clip(reference === undefined ? "" : typeof reference === "string" ? reference : JSON.stringify(reference)),
    clip(textOf(row.input.response ?? row.input.responses?.[0])));
  let opened = null;
  line.addEventListener("click", () => {
    if (opened) opened.remove();
    opened = opened ? null : element("tr", {}, detail(row));
    if (opened) line.after(opened);
    button.setAttribute("aria-expanded", String(opened !== null));
  });
  return line;
}

function rowTable(rows) {
  const more = element("button", { type: "button" }, `Show ${Math.min(AT_ONCE, rows.length - view.shown)} more`);
  more.addEventListener("click", () => { view.shown += AT_ONCE; draw(); });
  const heads = ["Row", "Score", "Status", "Reason", "Prompt", "Answer", "Reference", "Response"];
  const head = element("tr", {}, heads.map((name, at) => element("th", at === 1 ? {} : { class: "left" }, name)));
  const lines = ordered(rows).slice(0, view.shown).map(rowLines);
  return [element("div", { class: "scroll" }, element("table", {}, head, lines)),
    rows.length > view.shown ? element("div", { class: "row" }, more) : null];
}

function draw() {
  const focused = document.activeElement?.id;
  const rows = view.rows.filter((row) => passes(row, view.filters));
  const parts = [element("h2", {}, "Filters"), filters(),
    element("h2", {}, `${rows.length} of ${view.rows.length} rows`), distributions(rows), element("h2", {}, "Rows"), rowTable(rows)];
  view.holder.replaceChildren(...parts.flat().filter((part) => part !== null));
  if (focused) document.getElementById(focused)?.focus();
}

/** Draws rows into an element: objects with `row`, `id`, `input` and `scores`. */
function showRows(rows, holder) {
  const scorers = [...new Set(rows.flatMap((row) => Object.keys(row.scores)))];
  rows.forEach((row, at) => { row.at = at; });
  document.body.classList.add("wide");
  Object.assign(view, { rows, holder, scorers, scorer: scorers[0], filters: { ...none }, by: "row", isDown: false,
    shown: AT_ONCE });
  draw();
}
