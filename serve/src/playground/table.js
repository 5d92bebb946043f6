"use strict";

// Opens a scored file in the browser: reads its rows, and gives those with verdicts to `showRows`. No part of the file
// is sent to the server.

const fileField = document.getElementById("file");
const about = document.getElementById("about");
const holder = document.getElementById("view");
// Fields of a verdict that say how it was computed and not what was found.
const LEFT_OUT = new Set(["digests", "usage", "signature"]);
const LONGEST_TEXT = 20_000;

/** Whether a file begins with these bytes. */
const begins = (bytes, ...head) => head.every((byte, at) => bytes[at] === byte);

async function readRows(file) {
  let buffer = await file.arrayBuffer();
  if (begins(new Uint8Array(buffer, 0, Math.min(4, buffer.byteLength)), 0x1f, 0x8b)) {
    const unpacked = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
    buffer = await new Response(unpacked).arrayBuffer();
  }
  if (begins(new Uint8Array(buffer, 0, Math.min(4, buffer.byteLength)), 0x50, 0x41, 0x52, 0x31)) {
    const { parquetReadObjects, decompress } = await import("./parquet.js");
    const rows = await parquetReadObjects({ file: buffer, compressors: { ZSTD: (bytes) => decompress(bytes) } });
    return rows.map((value, at) => ({ row: at + 1, value }));
  }
  const text = new TextDecoder("utf-8", { fatal: true }).decode(buffer);
  const [, kind] = file.name.toLowerCase().match(/\.([ct]sv)(\.gz)?$/) ?? [];
  if (kind) return separatedRows(records(text, kind === "tsv" ? "\t" : ","));
  if (/^\s*\[/.test(text)) return JSON.parse(text).map((value, at) => ({ row: at + 1, value }));
  return text.split("\n").map((line, at) => ({ row: at + 1, line })).filter(({ line }) => line.trim() !== "")
    .map(({ row, line }) => ({ row, value: parsedLine(line, row) }));
}

function parsedLine(line, row) {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error(`line ${row} is not JSON: ${error.message}`);
  }
}

/** The cells of each record of a text of values between delimiters; blank lines are none. */
function records(text, delimiter) {
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${delimiter}\\r\\n][^${delimiter}\\r\\n]*)?)(${delimiter}|\\r?\\n|$)`, "y");
  const found = [];
  let record = [];
  while (cell.lastIndex < text.length) {
    const part = cell.exec(text);
    if (!part) throw new Error(`record ${found.length + 1}: a quote is not closed, or stands inside a cell`);
    record.push(part[1] === undefined ? part[2] ?? "" : part[1].replaceAll('""', '"'));
    if (part[3] === delimiter && cell.lastIndex === text.length) record.push("");
    else if (part[3] === delimiter) continue;
    if (record.length > 1 || record[0] !== "") found.push(record);
    record = [];
  }
  return found;
}

/** Rows of records, of which the first has the names; a cell of verdicts is JSON. */
function separatedRows([names = [], ...rest]) {
  const read = (name, text) => {
    if (text === "") return null;
    if (name !== "scores" || !text.startsWith("{")) return text;
    return JSON.parse(text);
  };
  return rest.map((cells, at) => {
    if (cells.length !== names.length) {
      throw new Error(`record ${at + 2}: ${cells.length} cells, but the first line names ${names.length} columns`);
    }
    return { row: at + 2, value: Object.fromEntries(names.map((name, column) => [name, read(name, cells[column])])) };
  });
}

/** The verdicts in the columns that `tribunal score --flat` writes. */
function flatVerdicts(value) {
  const names = Object.keys(value).filter((name) => name.endsWith("_scorer")).map((name) => name.slice(0, -7));
  return Object.fromEntries(names.filter((name) => `${name}_status` in value).map((name) => {
    const cell = (ending) => value[`${name}_${ending}`] ?? null;
    const number = (ending) => cell(ending) === null ? null : Number(cell(ending));
    return [name, { status: cell("status"), score: number("score"), raw: number("raw"), label: cell("label"),
      reason: cell("reason") === null ? null : { code: cell("reason"), detail: cell("detail") },
      candidate: cell("candidate") === null ? null : { text: String(cell("candidate")) } }];
  }));
}

/** A value as JSON has it: Parquet gives large integers and times as objects. Long texts are cut. */
function plain(value) {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === "string") return value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date) return value.toISOString();
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

/** The fields of a verdict that have a value. */
function shownVerdict(verdict) {
  return Object.fromEntries(Object.entries(verdict).filter(([name, value]) => value !== null && !LEFT_OUT.has(name)));
}

/** A row as `showRows` takes it; null where no scorer gave a verdict. */
function shownRow({ row, value }) {
  const verdicts = plain(value?.scores ?? flatVerdicts(value ?? {}));
  const scores = Object.entries(verdicts).filter(([, verdict]) => typeof verdict?.status === "string");
  if (scores.length === 0) return null;
  const { id, prompt, response, responses, reference } = plain(value);
  const input = Object.fromEntries(Object.entries({ prompt, response, responses, reference })
    .filter(([, content]) => content !== null && content !== undefined));
  return { row, id, input, scores: Object.fromEntries(scores.map(([name, verdict]) => [name, shownVerdict(verdict)])) };
}

async function open(file) {
  about.className = "";
  about.textContent = `reading ${file.name}`;
  holder.replaceChildren();
  try {
    const all = await readRows(file);
    const rows = all.map(shownRow).filter((row) => row !== null);
    if (rows.length === 0) {
      throw new Error(all.length === 0 ? "there are no rows"
        : "no row has a verdict in a column 'scores': `tribunal score` writes it");
    }
    const without = all.length - rows.length;
    about.textContent = `${file.name}: ${all.length} rows${without > 0 ? `, ${without} of them without a verdict` : ""}`;
    showRows(rows, holder);
  } catch (error) {
    about.className = "note bad";
    about.textContent = `${file.name}: ${error.message}`;
  }
}

fileField.addEventListener("change", () => { if (fileField.files[0]) open(fileField.files[0]); });
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const [file] = event.dataTransfer.files;
  if (file) open(file);
});
