// Calls a function of main.js, and writes its value, framed by a nonce, to descriptor 3.
"use strict";
const fs = require("node:fs");
const vm = require("node:vm");

const job = JSON.parse(fs.readFileSync(4, "utf8"));
const { stringify } = JSON;
const write = fs.writeSync;

function encode(value, depth) {
  if (depth > 40) throw new RangeError("the value nests too deeply");
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case "boolean":
    case "string":
      return value;
    case "bigint":
      return ["int", String(value)];
    case "number":
      if (Number.isInteger(value) && Math.abs(value) < 1e21) return ["int", BigInt(value).toString()];
      return ["float", Number.isNaN(value) ? "nan" : String(value).replace("Infinity", "inf")];
    case "object":
      break;
    default:
      return ["object", typeof value];
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    return ["list", Array.from(value, (item) => encode(item, depth + 1))];
  }
  if (value instanceof Set) return ["set", Array.from(value, (item) => encode(item, depth + 1))];
  const pairs = value instanceof Map ? [...value] : Object.entries(value);
  return ["dict", pairs.map(([key, item]) => [encode(key, depth + 1), encode(item, depth + 1)])];
}

function find(name) {
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) throw new SyntaxError("no name of a function");
  if (vm.runInThisContext(`typeof ${name}`) === "function") return vm.runInThisContext(name);
  const exported = globalThis.module.exports;
  if (typeof exported === "function" && exported.name === name) return exported;
  if (exported && typeof exported[name] === "function") return exported[name];
  if (vm.runInThisContext("typeof Solution") === "function") {
    const solution = vm.runInThisContext("new Solution()");
    return solution[name].bind(solution);
  }
  throw new ReferenceError(`${name} is not defined`);
}

async function main() {
  Object.assign(globalThis, { require, module: { exports: {} } });
  globalThis.exports = globalThis.module.exports;
  vm.runInThisContext(fs.readFileSync("main.js", "utf8"), { filename: "main.js" });
  let value = await find(job.function)(...job.args);
  if (job.in_place) value = job.args[0];
  // As Python's encoder does: nothing but ASCII, whose characters are bytes.
  const text = stringify(encode(value, 0)).replace(
    /[\u007f-\uffff]/g, (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"));
  write(3, `${job.nonce}${text.length}\n${text}${job.nonce}`, 0);
}

main();
