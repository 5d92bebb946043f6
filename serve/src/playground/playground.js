"use strict";

// The playground: a form, POST /v1/score, and the verdict. The key of the server stays in the field of this page: it is
// not stored, and a copied command names a variable of the environment instead.

const HISTORY = "tribunal.history";
const LONGEST_HISTORY = 30;
// Inputs above this are not kept, so that the browser's room lasts.
const LARGEST_KEPT = 100_000;

const at = (id) => document.getElementById(id);
const page = { scorers: [], examples: {}, filled: "", judged: null, copied: null, running: null };
const NOTHING = "The verdict appears here.";

/** The lists that are typed as texts, with what stands between two of their items. */
const LISTS = { principles: /\n/, context: /^---$/m, steps: /^---$/m };

function headers() {
  const key = at("key").value.trim();
  return key ? { authorization: `Bearer ${key}` } : {};
}

class Refused extends Error {
  constructor(status, body, wait) {
    const error = body?.error;
    super(error ? `${error.message} (${error.code})` : `the server answered ${status}`);
    this.status = status;
    this.wait = wait;
  }
}

async function call(path, options = {}) {
  const reply = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  const text = await reply.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    if (reply.ok) throw new Error("the reply is not JSON");
  }
  if (!reply.ok) throw new Refused(reply.status, body, reply.headers.get("retry-after"));
  return body;
}

// ---- the form ----

function addResponse(text = "") {
  const holder = at("responses");
  const number = holder.children.length + 1;
  const area = element("textarea", { id: `response-${number}`, rows: 5, spellcheck: "false" });
  area.value = text;
  const remove = element("button", { type: "button", class: "remove", "aria-label": "Remove this response" }, "Remove");
  const part = element("div", {}, element("label", { for: area.id }, `Response ${number}`), area,
    element("div", { class: "row" }, remove));
  remove.addEventListener("click", () => { part.remove(); renumber(); noteChange(); });
  holder.append(part);
  renumber();
}

function renumber() {
  const parts = [...at("responses").children];
  parts.forEach((part, index) => {
    const [label, area] = [part.querySelector("label"), part.querySelector("textarea")];
    area.id = `response-${index + 1}`;
    label.htmlFor = area.id;
    label.textContent = parts.length > 1 ? `Response ${index + 1}` : "Response";
    part.querySelector(".row").hidden = parts.length === 1;
  });
}

function fill(input) {
  at("prompt").value = plainText(input.prompt);
  at("responses").replaceChildren();
  for (const text of input.responses ?? [input.response ?? ""]) addResponse(plainText(text));
  const isJson = input.reference !== undefined && typeof input.reference !== "string";
  at("reference-json").checked = isJson;
  at("reference").value = isJson ? JSON.stringify(input.reference) : input.reference ?? "";
  at("rubric").value = input.rubric ? JSON.stringify(input.rubric, null, 1) : "";
  at("principles").value = (input.principles ?? []).join("\n");
  for (const name of ["context", "steps"]) at(name).value = (input[name] ?? []).join("\n---\n");
  hintAtJson();
  at("more").open = ["rubric", "principles", "context", "steps"].some((name) => at(name).value !== "");
  page.filled = JSON.stringify(read());
  noteChange();
}

/** The scorer and the input in the form, as one text; null where a field cannot be read. */
function inForm() {
  try {
    return JSON.stringify([at("scorer").value, read()]);
  } catch {
    return null;
  }
}

/** Marks a verdict that is not of what the form holds, and takes away a copy that is not. */
function noteChange() {
  const isStale = page.judged !== null && page.judged !== inForm();
  at("stale").hidden = !isStale;
  at("result").classList.toggle("stale", isStale);
  if (page.copied !== inForm()) {
    at("snippet").hidden = true;
    at("copied").textContent = "";
  }
}

/** Takes away the verdict. */
function clearResult() {
  page.judged = null;
  at("result").replaceChildren(element("p", {}, NOTHING));
  noteChange();
}

/** Shows the hint where a list or an object would be sent as a text. */
function hintAtJson() {
  const text = at("reference").value.trim();
  let isJson = false;
  if (/^[[{]/.test(text)) {
    try {
      isJson = typeof JSON.parse(text) === "object";
    } catch {
      // An interval or a set is no JSON.
    }
  }
  at("reference-hint").hidden = !isJson || at("reference-json").checked;
}

function plainText(content) {
  return typeof content === "string" || content === undefined ? content ?? "" : JSON.stringify(content);
}

/** Parses a field that holds JSON; the error names the field. */
function parsed(id, name) {
  try {
    return JSON.parse(at(id).value);
  } catch (error) {
    throw new Error(`${name}: not JSON: ${error.message}`);
  }
}

/** The input in the form; fields that are empty are left out. */
function read() {
  const texts = [...at("responses").querySelectorAll("textarea")].map((area) => area.value);
  const input = {};
  if (at("prompt").value !== "") input.prompt = at("prompt").value;
  if (texts.length === 1) [input.response] = texts;
  else input.responses = texts;
  if (at("reference").value !== "") {
    input.reference = at("reference-json").checked ? parsed("reference", "reference") : at("reference").value;
  }
  if (at("rubric").value.trim() !== "") input.rubric = parsed("rubric", "rubric");
  for (const [name, between] of Object.entries(LISTS)) {
    const items = at(name).value.split(between).map((item) => item.replace(/^\n|\n$/g, ""));
    if (at(name).value.trim() !== "") input[name] = items.filter((item) => item.trim() !== "");
  }
  return input;
}

function isUntouched() {
  try {
    const now = read();
    return JSON.stringify(now) === page.filled || JSON.stringify(now) === JSON.stringify({ response: "" });
  } catch {
    return false;
  }
}

function chosen() {
  return page.scorers.find((scorer) => scorer.id === at("scorer").value);
}

function exampleOf(scorer) {
  return scorer && (page.examples[scorer.id] ?? page.examples[scorer.kind]);
}

function showExample() {
  const example = exampleOf(chosen());
  if (example) fill(example);
  return example !== undefined;
}

function describe() {
  const scorer = chosen();
  at("description").textContent = scorer ? `${scorer.kind}: ${scorer.description}` : "";
  at("example").disabled = !exampleOf(scorer);
}

async function loadScorers() {
  try {
    const models = await call("v1/models");
    // What has a scorer's digest is taken by /v1/score.
    page.scorers = models.data.filter((model) => model.digests?.scorer);
    const group = (name, scorers) => scorers.length === 0 ? null : element("optgroup", { label: name },
      scorers.map((scorer) => element("option", { value: scorer.id }, scorer.id)));
    const isModel = (scorer) => scorer.kind === "model" || scorer.kind === "adapter";
    const options = [group("Scorers", page.scorers.filter((scorer) => !isModel(scorer))),
      group("Models", page.scorers.filter(isModel))];
    at("scorer").replaceChildren(...options.filter((option) => option !== null));
    at("key-row").hidden = at("key").value === "";
    describe();
    showExample();
    clearResult();
  } catch (error) {
    showError(error);
    if (error.status === 503) setTimeout(loadScorers, 1000);
  }
}

// ---- the verdict ----

function showError(error) {
  const wait = error.wait ? ` Try again in ${error.wait} s.` : "";
  page.judged = null;
  noteChange();
  at("result").replaceChildren(element("p", { class: "note bad" }, error.message + wait));
  if (error.status === 401) {
    at("key-row").hidden = false;
    at("key").focus();
  }
}

function costs(result, roundTrip) {
  const { timing, usage } = result;
  const facts = [
    ["Scorer", result.model],
    ["Time", `${shownNumber(timing.exec_ms, 3)} ms of work, ${shownNumber(timing.queue_ms, 3)} ms waiting`
      + (roundTrip === null ? "" : `, ${shownNumber(roundTrip, 3)} ms to and from this page`)],
    ["Tokens", usage.total_tokens === 0 ? "none: no model was called"
      : `${usage.input_tokens} read (${usage.cached_tokens} of them from the cache), ${usage.output_tokens} written`],
    ["Cache", result.cached ? "the verdict was stored" : "the verdict was computed"],
    typeof result.label_mass === "number" ? ["Label mass", shownNumber(result.label_mass)] : null,
    ...Object.entries(result.digests ?? {}).filter(([, digest]) => typeof digest === "string")
      .map(([name, digest]) => [`Digest of the ${name}`, digest]),
  ];
  const time = result.cached ? "a stored verdict" : `${shownNumber(timing.exec_ms, 3)} ms`;
  return element("details", {}, element("summary", {}, `${time}, ${usage.total_tokens} tokens`), element("dl", {}, facts.filter((fact) => fact !== null)
    .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])));
}

function show(model, input, result, roundTrip) {
  page.judged = JSON.stringify([model, input]);
  noteChange();
  at("result").replaceChildren(...[drawVerdict(result, input), neededReference(model, result), costs(result, roundTrip)]
    .filter((part) => part !== null));
}

/** A reference that the scorer reads, where it cannot use the one that was given. */
function neededReference(model, result) {
  const example = exampleOf(page.scorers.find((scorer) => scorer.id === model))?.reference;
  if (result.status !== "bad_reference" || example === undefined) return null;
  const isText = typeof example === "string";
  return element("section", {}, element("h3", {}, "A reference that this scorer reads"),
    element("pre", {}, isText ? example : JSON.stringify(example)),
    element("p", {}, isText ? "" : "It is JSON: tick the box below the reference. ", "Example fills in the whole form."));
}

async function score() {
  page.running?.abort();
  const running = new AbortController();
  page.running = running;
  at("score").disabled = true;
  at("stop").hidden = false;
  try {
    const [model, input] = [at("scorer").value, read()];
    const begun = performance.now();
    const reply = await call("v1/score", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, inputs: [input], options: { explain: true } }),
      signal: running.signal,
    });
    const result = { ...reply.results[0], model };
    show(model, input, result, performance.now() - begun);
    remember({ model, input, result });
  } catch (error) {
    if (error.name !== "AbortError") showError(error);
    else if (page.running === running) {
      clearResult();
      at("result").replaceChildren(element("p", {}, "Stopped."));
    }
  } finally {
    if (page.running === running) {
      page.running = null;
      at("score").disabled = false;
      at("stop").hidden = true;
    }
  }
}

// ---- history ----

function keptEntries() {
  try {
    const kept = JSON.parse(localStorage.getItem(HISTORY) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    // Kept by another version, or not allowed in this browser.
    return [];
  }
}

function remember(entry) {
  if (JSON.stringify(entry).length > LARGEST_KEPT) return;
  // The same input once more takes the place of its earlier verdict.
  const asked = ({ model, input }) => JSON.stringify([model, input]);
  const others = keptEntries().filter((kept) => asked(kept) !== asked(entry));
  const kept = [entry, ...others].slice(0, LONGEST_HISTORY);
  try {
    localStorage.setItem(HISTORY, JSON.stringify(kept));
  } catch {
    // No room or not allowed: the page works without a history.
    return;
  }
  showHistory();
}

function showHistory() {
  const kept = keptEntries();
  at("history-part").hidden = kept.length === 0;
  at("history").replaceChildren(...kept.map((entry) => {
    const { model, input, result } = entry;
    const found = result.status === "ok" ? shownNumber(result.score) : result.status;
    const text = textOf(input.response ?? input.responses?.[0]).slice(0, 120);
    const button = element("button", { type: "button" }, `${model}: ${found} · ${text}`);
    button.addEventListener("click", () => {
      if (page.scorers.some((scorer) => scorer.id === model)) at("scorer").value = model;
      describe();
      fill(input);
      show(model, input, result, null);
    });
    return element("li", {}, button);
  }));
}

// ---- copies ----

// Characters that a reader does not see, or that change the order of others: written as escapes.
const UNSEEN = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const escaped = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

function json(value) {
  return JSON.stringify(value).replace(UNSEEN, escaped);
}

/** A word of a POSIX shell: between single quotes nothing is special but the quote. */
function shellWord(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A Python expression. The escapes of JSON texts are those of Python. */
function python(value, indent = "") {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return json(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value) ? value.map((item) => python(item, inner))
    : Object.entries(value).map(([key, item]) => `${json(key)}: ${python(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return items.length === 0 ? open + close
    : `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}

const COPIES = {
  curl: (url, body, isKeyed) => [`curl -s ${shellWord(url)}`, "-H 'content-type: application/json'",
    ...(isKeyed ? ['-H "authorization: Bearer $TRIBUNAL_API_KEY"'] : []), `--data-raw ${shellWord(json(body))}`]
    .join(" \\\n  "),
  python: (url, body, isKeyed) => `import json
${isKeyed ? "import os\n" : ""}import urllib.request

body = ${python(body)}
request = urllib.request.Request(
    ${json(url)},
    data=json.dumps(body).encode(),
    headers={
        "content-type": "application/json",
${isKeyed ? '        "authorization": "Bearer " + os.environ["TRIBUNAL_API_KEY"],\n' : ""}    },
)
with urllib.request.urlopen(request) as reply:
    print(json.dumps(json.load(reply), indent=2))
`,
  jsonl: (url, body) => json(body.inputs[0]),
};

async function copy(kind) {
  const note = at("copied");
  try {
    const body = { model: at("scorer").value, inputs: [read()], options: { explain: true } };
    const url = new URL("v1/score", document.baseURI).href;
    const text = COPIES[kind](url, body, at("key").value !== "");
    page.copied = inForm();
    at("snippet").textContent = text;
    at("snippet").hidden = false;
    await navigator.clipboard.writeText(text);
    note.textContent = "copied";
  } catch (error) {
    // Browsers give no clipboard to a page of another machine over plain HTTP: the text is there to select.
    note.textContent = at("snippet").hidden ? error.message : "select it below";
  }
}

// ---- start ----

async function start() {
  addResponse();
  showHistory();
  at("form").addEventListener("submit", (event) => { event.preventDefault(); score(); });
  at("form").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); score(); }
  });
  for (const id of ["reference", "reference-json"]) at(id).addEventListener("input", hintAtJson);
  at("scorer").addEventListener("change", () => {
    const untouched = isUntouched();
    describe();
    if (untouched) showExample();
    noteChange();
  });
  at("form").addEventListener("input", noteChange);
  at("add").addEventListener("click", () => { addResponse(); noteChange(); });
  at("example").addEventListener("click", showExample);
  at("clear").addEventListener("click", () => { fill({}); clearResult(); });
  at("stop").addEventListener("click", () => page.running?.abort());
  at("use-key").addEventListener("click", loadScorers);
  at("key").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); event.stopPropagation(); loadScorers(); }
  });
  at("forget").addEventListener("click", () => { localStorage.removeItem(HISTORY); showHistory(); });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(button.dataset.copy));
  }
  page.examples = await fetch("playground/examples.json").then((reply) => reply.json());
  await loadScorers();
}

start();
