"""The playground, the page of routes and the page of `tribunal show` in a real Chromium.

`cargo xtask test --clients -- playground` makes an environment with the packages of
`tests/clients/requirements/browser.txt` and runs it. By hand, in such an environment:

    python tests/clients/playground.py --binary target/release/tribunal [--shots FOLDER]

It needs a Chromium or Chrome on the path, and says that it is skipped where there is none. `--shots`
keeps pictures. The script prints `ok` and ends with 0, or fails at the first thing that is not as it
should be.
"""

import argparse
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import Browser, Page, sync_playwright

KEY = "playground-key-0123456789"
# Quotes, a substitution, markup, a character beyond the first plane, one that turns the order of others, an end of line.
HOSTILE = "it's \"so\" `id` $(id) !! \\ </script><img src=x onerror=alert(1)>\n😀 é \u202e42\n#### 7"


@contextlib.contextmanager
def server(binary: str, *more: str):
    """The address of a server, which ends with the block."""
    command = [binary, "serve", "--bind", "127.0.0.1:0", "--log", "warn", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            yield re.search(r"http://[0-9.:]+", line).group()
        finally:
            process.terminate()


@contextlib.contextmanager
def opened(browser: Browser, address: str, **options):
    """A page, on which no error may have been reported at the end of the block."""
    context = browser.new_context(**options)
    page = context.new_page()
    problems, requests = [], []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.set_default_timeout(20_000)
    page.goto(address)
    yield page
    # Chromium reports each reply above 399 as well; those are looked at where they are caused.
    problems = [problem for problem in problems if "Failed to load resource" not in problem]
    assert problems == [], problems
    if address.startswith("http"):
        origin = "/".join(address.split("/")[:3]) + "/"
        foreign = [url for url in requests if not url.startswith((origin, "data:"))]
        assert foreign == [], foreign
    context.close()


def choose(page: Page, scorer: str) -> None:
    page.wait_for_selector("#scorer option", state="attached")
    page.select_option("#scorer", scorer)
    page.click("#example")


def score(page: Page) -> str:
    """Presses the button and returns the score or status of the new verdict."""
    page.evaluate("document.getElementById('result').replaceChildren()")
    page.click("#score")
    page.wait_for_selector("#result .verdict .score, #result .note")
    assert page.locator("#result .note").count() == 0, page.inner_text("#result")
    return page.locator("#result .score").first.inner_text()


def fits(page: Page) -> None:
    """Nothing stands beyond the right edge."""
    width, seen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= seen, (width, seen)


def copied(page: Page, kind: str) -> str:
    page.click(f"[data-copy={kind}]")
    page.wait_for_selector("#snippet:not([hidden])")
    return page.locator("#snippet").evaluate("it => it.textContent")


# The ratio of luminances of each text to what is behind it (WCAG 2.2, 1.4.3), where that is less than it should be.
FAINT_TEXTS = """() => {
  const rgba = (text) => {
    const [r, g, b, a = 1] = text.replace(/^color\\(srgb/, "").match(/[0-9.]+/g).map(Number);
    const scale = text.startsWith("color(srgb") ? 255 : 1;
    return [r * scale, g * scale, b * scale, a];
  };
  const over = (top, under) => [0, 1, 2].map((at) => top[at] * top[3] + under[at] * (1 - top[3])).concat(1);
  const light = (c) => [0, 1, 2].map((at) => c[at] / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.unshift(rgba(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, top) => over(top, under), rgba(getComputedStyle(document.body).backgroundColor));
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const faint = [];
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const style = getComputedStyle(node);
    const isSeen = walker.currentNode.data.trim() && node.checkVisibility({ checkVisibilityCSS: true }) && !node.disabled;
    if (!isSeen || node.closest("script, style, option, [aria-hidden=true]")) continue;
    const under = behind(node);
    const [a, b] = [light(over(rgba(style.color), under)), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) faint.push([walker.currentNode.data.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return faint;
}"""
MOST_BYTES = 150_000


def check_page(browser: Browser, address: str) -> None:
    """What the page weighs, when it is painted, and that all of it has a name and can be reached by keys."""
    with opened(browser, address) as page:
        page.wait_for_selector("#scorer option", state="attached")
        timing = page.evaluate("""() => ({
          bytes: performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
            .reduce((sum, entry) => sum + entry.decodedBodySize, 0),
          paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
        })""")
        assert timing["bytes"] <= MOST_BYTES, timing
        unnamed = page.evaluate("""() => [...document.querySelectorAll("input, select, textarea, button")]
          .filter((it) => it.checkVisibility() && !it.labels?.length && !it.innerText.trim()
            && !it.getAttribute("aria-label") && !it.title).map((it) => it.outerHTML.slice(0, 80))""")
        assert unnamed == [], unnamed
        assert page.evaluate("document.documentElement.lang") != ""
        reached = set()
        for _ in range(80):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id"))
        assert {"scorer", "response-1", "reference", "score"} <= reached, reached
    print(f"playground: {timing['bytes']:,} bytes, first painted after {timing['paint']:.0f} ms")


class Documents:
    """The page of routes, whose operations are sent by its own buttons."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.wait_for_selector(".opblock")
        blocks = page.locator(".opblock").evaluate_all("all => all.map((it) => it.id)")
        # An id is "operations-TAG-OPERATION".
        self.blocks = {block.rsplit("-", 1)[1]: block for block in blocks}

    def execute(self, name: str, parameters: dict | None = None, body: str | None = None, file: pathlib.Path | None = None):
        """Presses "Try it out" and "Execute"; returns the status, or "unset", and the text of the reply."""
        block = self.page.locator(f'[id="{self.blocks[name]}"]')
        head = block.locator(".opblock-summary-control")
        head.click()
        block.locator(".try-out__btn").click()
        for parameter, value in (parameters or {}).items():
            block.locator(f'tr[data-param-name="{parameter}"] input').fill(value)
        if body is not None:
            block.locator("textarea.body-param__text").fill(body)
        if file is not None:
            block.locator("input[type=file]").set_input_files(file)
        block.locator(".execute").click()
        status = block.locator(".live-responses-table tbody .response-col_status").first
        # An operation whose parameters have no value is not sent.
        unset = block.locator("input.invalid, .parameters .invalid")
        status.or_(unset).first.wait_for()
        if not status.is_visible():
            head.click()
            return "unset", ""
        code = status.inner_text().split()[0]
        reply = block.locator(".live-responses-table tbody .response-col_description").first
        text = reply.evaluate("it => it.textContent")
        head.click()
        return code, text


# Operations that need what a fresh server does not have: a model with a score head, folders that a configuration names,
# or something that was made before. `check_all_documents` sends them to a server that has it.
NEED_MORE = {
    "classify", "pooling", "predict", "info", "classify_texts", "embeddings", "list_batches", "create_batch", "list_files",
    "load_lora_adapter", "unload_lora_adapter", "retrieve_batch", "cancel_batch", "retrieve_file", "delete_file",
    "file_content", "upload_file",
}


def check_documents(browser: Browser, address: str) -> None:
    """Every operation of the page of routes works as it stands."""
    with opened(browser, f"{address}/docs", viewport={"width": 1280, "height": 1000}) as page:
        documents = Documents(page)
        plain = [name for name in documents.blocks if name not in NEED_MORE]
        codes = {name: documents.execute(name)[0] for name in plain}
        refused = {name: code for name, code in codes.items() if not code.startswith("2")}
        assert refused == {}, refused
    print(f"documents: {len(plain)} operations answer as they stand on a server without a configuration")


def make_adapter(folder: pathlib.Path, config: dict) -> None:
    """A LoRA adapter of rank 1 for the first layer of a model, all of zeros."""
    hidden = config["hidden_size"]
    inner = config["num_attention_heads"] * config.get("head_dim", hidden // config["num_attention_heads"])
    head, data = {}, b""
    for factor, shape in [("A", [1, hidden]), ("B", [inner, 1])]:
        size = 4 * shape[0] * shape[1]
        name = f"base_model.model.model.layers.0.self_attn.q_proj.lora_{factor}.weight"
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    text = json.dumps(head).encode()
    folder.mkdir(parents=True)
    (folder / "adapter_model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    settings = {"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["q_proj"], "layers_to_transform": [0]}
    (folder / "adapter_config.json").write_text(json.dumps(settings))


def check_all_documents(browser: Browser, binary: str, folder: pathlib.Path) -> None:
    """The others work on a server with what they need, and the same bodies where these name nothing that was made."""
    def tribunal(*arguments: object) -> None:
        subprocess.run([binary, *map(str, arguments)], check=True, capture_output=True)

    tribunal("models", "make-tiny", "--family", "qwen3", "--head", "sequence", folder / "rm")
    make_adapter(folder / "adapters/strict", json.loads((folder / "rm/config.json").read_text()))
    lines = [json.dumps({"custom_id": str(at), "method": "POST", "url": "/v1/score", "body": {
        "model": "math", "inputs": [{"response": str(at), "reference": "7"}]}}) for at in range(10)]
    requests = folder / "requests.jsonl"
    requests.write_text("\n".join(lines))
    more = ["--model", f"my-reward-model={folder / 'rm'}", "--set", f"batches.folder={folder / 'batches'}",
            "--set", f"compat.adapters={folder / 'adapters'}"]
    with server(binary, *more) as address, opened(browser, f"{address}/docs", viewport={"width": 1280, "height": 1000}) as page:
        documents, codes = Documents(page), {}

        def execute(name: str, **given) -> str:
            codes[name], text = documents.execute(name, **given)
            return text

        for name in ["classify", "pooling", "predict", "info", "classify_texts", "embeddings", "list_files", "list_batches",
                     "load_lora_adapter", "unload_lora_adapter"]:
            execute(name)
        file = re.search(r"file-[0-9a-z]+", execute("upload_file", file=requests)).group()
        for name in ["retrieve_file", "file_content"]:
            execute(name, parameters={"file_id": file})
        body = {"input_file_id": file, "endpoint": "/v1/score", "completion_window": "24h"}
        batch = re.search(r"batch_[0-9a-z]+", execute("create_batch", body=json.dumps(body))).group()
        execute("retrieve_batch", parameters={"batch_id": batch})
        execute("cancel_batch", parameters={"batch_id": batch})
        execute("delete_file", parameters={"file_id": file})
        assert set(codes) == NEED_MORE, set(codes) ^ NEED_MORE
        refused = {name: code for name, code in codes.items() if not code.startswith("2")}
        # Ten lines are over before a button can be pressed; a batch that is over cannot be cancelled.
        assert refused in ({}, {"cancel_batch": "409"}), refused
    print(f"documents: the other {len(codes)} answer where there is a reward model, and folders of batches and adapters")


def check_scorers(page: Page) -> None:
    """Each scorer of a server without a configuration scores its example."""
    page.wait_for_selector("#scorer option", state="attached")
    names = page.locator("#scorer optgroup[label=Scorers] option").all_inner_texts()
    assert len(names) > 20, names
    for name in names:
        choose(page, name)
        found = score(page)
        assert re.fullmatch(r"-?[0-9.]+(e-?\d+)?", found) or name in ("python-tests", "verilog"), (name, found)
    print(f"playground: {len(names)} scorers score their examples")


def check_verdicts(page: Page) -> None:
    choose(page, "math")
    assert score(page) == "1"
    assert page.locator("mark.answer").all_inner_texts() == [r"\frac{1}{2}"]
    assert page.locator(".sides math mfrac").count() == 1
    # What is marked as LaTeX is a formula, and everything else stands as it was written.
    for scorer, response, reference, answer, is_formula in [
        ("text", "It is 4", "It is 4", "It is 4", False), ("choice", "The answer is (B).", "B", "(B)", False),
        ("math", "So \\boxed{50 km/h}", "50 km/h", "50 km/h", False), ("math", "So \\boxed{x^2}", "x^2", "x2", True),
        ("math", "So \\boxed{7}", "7", "7", False), ("math", "So \\boxed{\\text{a or b}}", "1", "a or b", True),
    ]:
        page.select_option("#scorer", scorer)
        page.set_checked("#reference-json", False)
        page.fill("#response-1", response)
        page.fill("#reference", reference)
        score(page)
        shown = page.locator(".sides > div >> nth=0").locator("math" if is_formula else "code").first
        assert shown.text_content() == answer, (scorer, response, shown.text_content())
    # Codes are said in words, and nothing is said twice.
    page.fill("#response-1", "I do not know.")
    page.fill("#reference", "7")
    page.select_option("#scorer", "math")
    score(page)
    said = page.inner_text("#result")
    assert "The response gives no answer." in said and "no answer no_answer" not in said, said
    page.fill("#response-1", "7 and so on 3 4 7")
    score(page)
    said = page.inner_text("#result")
    assert "found as the last number" in said and "nothing marks an answer" in said, said
    choose(page, "python-tests")
    page.check("#reference-json")
    page.fill("#reference", '["assert f(1) == 2"]')
    page.fill("#response-1", "def f(x): return x")
    # Where nothing isolates programs it is a tool error.
    if score(page) == "0":
        said = page.inner_text("#result")
        assert "wrong answer" in said and "assert f(1) == 2: AssertionError;" in said, said
    choose(page, "process")
    score(page)
    assert "is step 2 (steps[1])" in page.inner_text("#result"), page.inner_text("#result")
    assert "The first wrong step is step 2." in page.inner_text("#result")
    assert page.locator("mark.first-wrong").inner_text() == "68+3=71"
    assert page.locator("mark.heat").count() == 4
    choose(page, "judge-list")
    score(page)
    assert page.locator("#result .columns .verdict").count() == 3
    choose(page, "rubric")
    score(page)
    assert "Parts" in page.inner_text("#result")
    page.click("#clear")
    page.fill("#prompt", "What is the capital of France?")
    page.fill("#response-1", "Paris.")
    page.select_option("#scorer", "reward")
    assert score(page) == "refused"
    assert "out_of_domain" in page.inner_text("#result")
    # A verdict is marked once the form is another one, a copy goes away, and an empty response is said to be empty.
    choose(page, "math")
    score(page)
    before = page.input_value("#response-1")
    copied(page, "jsonl")
    for text, is_old in [("8", True), (before, False)]:
        page.fill("#response-1", text)
        assert page.locator("#stale").is_visible() == is_old, text
        assert page.locator("#result.stale").count() == is_old, text
        assert page.locator("#snippet").is_hidden() and page.inner_text("#copied") == "", text
    page.fill("#response-1", " ")
    score(page)
    assert page.locator("#stale").is_hidden()
    assert "The response is empty." in page.inner_text("#result")
    copied(page, "jsonl")
    page.click("#clear")
    assert page.inner_text("#result") == "The verdict appears here."
    assert page.locator("#stale").is_hidden() and page.locator("#snippet").is_hidden()
    # Where a reference cannot be used, one that can is shown.
    for scorer, reference, needed in [("python-tests", "assert f(1)==2", '{"tests":'), ("json", "4", '{"type":"object"')]:
        page.select_option("#scorer", scorer)
        page.set_checked("#reference-json", False)
        page.fill("#response-1", "def f(x): return 2")
        page.fill("#reference", reference)
        assert score(page) == "bad_reference", scorer
        said = page.inner_text("#result")
        assert "A reference that this scorer reads" in said and needed in said, said
    # A list that is not ticked as one is pointed at; a set or an interval is no JSON.
    hint = page.locator("#reference-hint")
    for text, is_ticked, is_shown in [("[3, 4]", False, True), ("[3, 4]", True, False), ("{3, 4}", False, False),
                                      ("[3, 4)", False, False), ('{"a": 1}', False, True), ("3", False, False)]:
        page.fill("#reference", text)
        page.set_checked("#reference-json", is_ticked)
        assert hint.is_visible() == is_shown, (text, is_ticked)
    # A mistake is said in words.
    page.check("#reference-json")
    page.fill("#reference", "[1,")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#result .note.bad")
    assert "reference: not JSON" in page.inner_text("#result")
    print("playground: marks, formulas, steps, lists, parts and mistakes are shown")


def check_copies(page: Page) -> None:
    """What is copied does the same, whatever is in it."""
    choose(page, "math")
    page.fill("#response-1", HOSTILE)
    page.fill("#reference", "7")
    score(page)
    assert page.locator("#result img").count() == 0
    own = page.locator("#result .score").first.inner_text()
    for kind, run in [("curl", ["sh", "-c"]), ("python", [sys.executable, "-c"])]:
        text = copied(page, kind)
        assert "\u202e" not in text, text
        ran = subprocess.run([*run, text], capture_output=True, text=True, check=True)
        reply = json.loads(ran.stdout)
        assert str(reply["results"][0]["score"]) in (own, f"{own}.0"), reply
        assert reply["results"][0]["candidate"]["text"] == "7", reply
    row = json.loads(copied(page, "jsonl"))
    assert row["response"] == HOSTILE, row
    print("playground: curl, Python and JSONL copies work with hostile texts")


def check_history(page: Page, address: str) -> None:
    entries = page.locator("#history button")
    count = entries.count()
    assert count > 5, count
    page.goto(address)
    page.wait_for_selector("#scorer option", state="attached")
    assert entries.count() == count
    entries.first.click()
    assert page.input_value("#response-1") == HOSTILE
    page.click("#forget")
    assert page.locator("#history-part").is_hidden()
    print(f"playground: {count} verdicts outlive a reload, and can be forgotten")


def check_keys(browser: Browser, binary: str, folder: pathlib.Path) -> None:
    keys = folder / "keys.txt"
    keys.write_text(KEY + "\n")
    with server(binary, "--api-keys-file", str(keys)) as address, opened(browser, address) as page:
        page.wait_for_selector("#key-row:not([hidden])")
        page.fill("#key", KEY)
        page.keyboard.press("Enter")
        choose(page, "math")
        assert score(page) == "1"
        kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert KEY not in kept, kept
        for kind in ["curl", "python"]:
            text = copied(page, kind)
            assert "TRIBUNAL_API_KEY" in text and KEY not in text, text
            environment = {**os.environ, "TRIBUNAL_API_KEY": KEY}
            run = ["sh", "-c"] if kind == "curl" else [sys.executable, "-c"]
            ran = subprocess.run([*run, text], capture_output=True, text=True, check=True, env=environment)
            assert json.loads(ran.stdout)["results"][0]["score"] == 1.0, ran.stdout
    print("playground: a key is needed, used, and stored nowhere")


def check_shown_rows(browser: Browser, binary: str, folder: pathlib.Path, shots: pathlib.Path | None) -> None:
    rows = [{"id": at, "prompt": f"What is {at} + 1?", "response": f"{at} + 1 = {at + 1 + at % 2}\n\\boxed{{{at + 1 + at % 2}}}",
             "reference": str(at + 1)} for at in range(300)]
    rows.append({"id": "hostile", "response": HOSTILE, "reference": "7"})
    source, scored = folder / "in.jsonl", folder / "scored.parquet"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command in (["score", source, "-o", scored, "--scorer", "math", "--scorer", "arithmetic", "--explain"],
                    ["show", scored, "-o", folder / "scored.html"]):
        subprocess.run([binary, *map(str, command)], check=True, capture_output=True)
    with opened(browser, (folder / "scored.html").as_uri(), viewport={"width": 1280, "height": 900}) as page:
        assert page.locator("h2", has_text="301 of 301 rows").count() == 1
        if shots:
            page.screenshot(path=shots / "show.png")
        assert "What is 0 + 1?" in page.locator("tr.opens >> nth=0").inner_text()
        page.select_option("#filter-label", "different")
        assert page.locator("h2", has_text="150 of 301 rows").count() == 1
        page.click("tr.opens >> nth=0")
        assert page.locator("mark.answer").first.inner_text() == "3"
        assert "Reference" in page.locator(".sides").first.inner_text()
        # The arithmetic scorer extracts nothing, and the reference is shown beside its verdict too.
        assert page.locator(".sides").count() == 2
        if shots:
            page.screenshot(path=shots / "show-row.png", full_page=False)
        page.fill("#filter-text", "onerror")
        page.keyboard.press("Enter")
        assert page.locator("h2", has_text="0 of 301 rows").count() == 1
        page.click("text=Show all")
        page.fill("#filter-text", "onerror")
        page.keyboard.press("Enter")
        page.click("tr.opens >> nth=0")
        assert page.locator("img").count() == 0
        page.set_viewport_size({"width": 400, "height": 800})
        fits(page)
    print("show: 301 rows are filtered and opened")


def check_table(browser: Browser, binary: str, folder: pathlib.Path, shots: pathlib.Path | None) -> None:
    """A scored file of each format is opened in the browser, and no part of it is sent."""
    lines = folder / "scored.jsonl"
    score = ["score", folder / "in.jsonl", "-o", lines, "--scorer", "math", "--explain"]
    subprocess.run([binary, *map(str, score)], check=True, capture_output=True)
    array, packed = folder / "scored.json", folder / "scored.jsonl.gz"
    array.write_text(f"[{','.join(lines.read_text().splitlines())}]")
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    tables = [folder / "scored.csv", folder / "scored.tsv", folder / "flat.csv"]
    for table in tables:
        form = ["--flat"] if table.stem == "flat" else []
        score = ["score", folder / "in.jsonl", "-o", table, "--scorer", "math", "--explain", *form]
        subprocess.run([binary, *map(str, score)], check=True, capture_output=True)
    with server(binary) as address, opened(browser, f"{address}/playground/table.html",
                                           viewport={"width": 1280, "height": 900}) as page:
        sent = []
        page.on("request", lambda request: sent.append((request.method, request.post_data)))
        for file in [*tables, lines, array, packed, folder / "scored.parquet"]:
            page.set_input_files("#file", file)
            page.locator("#about", has_text=f"{file.name}: 301 rows").wait_for()
            page.select_option("#filter-label", "different")
            assert page.locator("h2", has_text="150 of 301 rows").count() == 1, file
            page.click("tr.opens >> nth=0")
            # Flat columns have the answer, and not where it stands.
            answer = ".sides code" if file.stem == "flat" else "mark.answer"
            assert page.locator(answer).first.text_content() == "3", file
            assert "1 + 1 = 3" in page.locator(".verdict .marked").first.inner_text(), file
            assert "different" in page.locator(".verdict").first.inner_text(), file
        if shots:
            page.screenshot(path=shots / "table.png")
        page.fill("#filter-text", "onerror")
        page.keyboard.press("Enter")
        page.click("text=Show all")
        page.fill("#filter-text", "onerror")
        page.keyboard.press("Enter")
        page.click("tr.opens >> nth=0")
        assert page.locator("img").count() == 0
        assert page.evaluate(FAINT_TEXTS) == []
        page.set_viewport_size({"width": 400, "height": 800})
        fits(page)
        for name, text, said in [("plain.jsonl", '{"response": "4"}', "no row has a verdict in a column 'scores'"),
                                 ("cut.jsonl", '{"response": "4"', "line 1 is not JSON"),
                                 ("none.jsonl", "", "there are no rows"),
                                 ("cut.csv", 'response,scores\n4,"{', "record 2: a quote is not closed"),
                                 ("short.tsv", "response\tscores\n4\n", "record 2: 1 cells"),
                                 ("cut.parquet", "PAR1", "cut.parquet: ")]:
            (folder / name).write_text(text)
            page.set_input_files("#file", folder / name)
            page.locator("#about.bad", has_text=said).wait_for()
            assert page.locator("#view").inner_text() == "", name
        assert all(method == "GET" and data is None for method, data in sent), sent
    print("table: lines, an array, a packed file, CSV, TSV and Parquet are opened and filtered, and sent nowhere")


def check(binary: str, chromium: str, shots: pathlib.Path | None) -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = pathlib.Path(name)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with server(binary) as address:
            with opened(browser, address, viewport={"width": 1280, "height": 1000}) as page:
                check_scorers(page)
                check_verdicts(page)
                check_copies(page)
                check_history(page, address)
            check_page(browser, address)
            check_documents(browser, address)
            for scheme, width in [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)]:
                with opened(browser, address, color_scheme=scheme, viewport={"width": width, "height": 1000}) as page:
                    for scorer in ["judge-pair", "process"]:
                        choose(page, scorer)
                        score(page)
                        fits(page)
                        faint = page.evaluate(FAINT_TEXTS)
                        assert faint == [], (scheme, faint)
                        if shots:
                            page.screenshot(path=shots / f"{scorer}-{scheme}-{width}.png", full_page=True)
        check_all_documents(browser, binary, folder)
        check_keys(browser, binary, folder)
        check_shown_rows(browser, binary, folder, shots)
        check_table(browser, binary, folder, shots)
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--shots", type=pathlib.Path)
    arguments = parser.parse_args()
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    chromium = next((path for path in map(shutil.which, names) if path), None)
    if chromium is None:
        print("skipped: no Chromium on the path")
        return
    if arguments.shots:
        arguments.shots.mkdir(parents=True, exist_ok=True)
    check(arguments.binary, chromium, arguments.shots)
    print("ok")


if __name__ == "__main__":
    main()
