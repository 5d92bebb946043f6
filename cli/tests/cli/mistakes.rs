//! Typical mistakes: each ends with exit code 2, or 1 where something failed on the way, and with a
//! message that names what was given and what would be right.

use crate::program::{Folder, command};

/// A command line in a folder with `rows.jsonl`, `scored.jsonl`, `bad.toml`, `scorers.toml` and `model.toml`, its exit code, and
/// what it says.
type Mistake = (&'static str, i32, &'static [&'static str]);

const NONE: &str = "No such file or directory";

const MISTAKES: &[Mistake] = &[
    ("", 2, &["Usage: tribunal <COMMAND>"]),
    ("rm", 2, &["unrecognized subcommand 'rm'"]),
    ("scor rows.jsonl", 2, &["a similar subcommand exists: 'score'"]),
    ("score", 2, &["--output <OUT>", "--scorer <NAME>", "<IN>"]),
    ("score rows.jsonl -o out.jsonl", 2, &["--scorer <NAME>"]),
    ("score none.jsonl -o out.jsonl --scorer math", 2, &["none.jsonl", NONE]),
    ("score none.parquet -o out.jsonl --scorer math", 2, &["none.parquet"]),
    ("score rows.jsonl -o out.jsonl --scorer maths", 2, &["did you mean 'math'?"]),
    ("score rows.jsonl -o out.jsonl --scorer rm", 2, &["there is no scorer 'rm' (the scorers are"]),
    (
        "score rows.jsonl -o out.jsonl --scorer process --config model.toml",
        2,
        &["there is no scorer 'process': it asks the model that is part of the program"],
    ),
    (
        "score rows.jsonl -o - --scorer process",
        1,
        &[
            "'process' refused every row: ",
            "tribunal-tiny knows problems such as",
            "--model NAME=PATH",
        ],
    ),
    (
        "score rows.jsonl -o - --scorer process --output-format csv",
        1,
        &["'process' refused every row: ", "tribunal-tiny knows problems such as"],
    ),
    ("score rows.jsonl -o out.jsonl --scorers math", 2, &["a similar argument exists: '--scorer'"]),
    (
        "score rows.jsonl -o scored.jsonl --scorer math",
        2,
        &["scored.jsonl exists already; --overwrite replaces it"],
    ),
    ("score rows.jsonl -o none/out.jsonl --scorer math", 2, &["cannot write none/out.jsonl: "]),
    ("score rows.jsonl -o none/out.parquet --scorer math", 2, &["cannot write none/out.parquet: "]),
    ("score rows.jsonl -o out.txt.parquet --scorer math --response answer", 2, &["'answer'"]),
    ("score rows.jsonl -o out.jsonl --scorer math --reference gold", 2, &["'gold'", "reference"]),
    ("score rows.jsonl -o rows.jsonl --scorer math", 2, &["rows.jsonl is the input"]),
    (
        "score scored.jsonl -o out.jsonl --scorer math",
        2,
        &["a score of 'math'", "--overwrite-scores"],
    ),
    ("score rows.jsonl -o out.jsonl --scorer math --config none.toml", 2, &["none.toml", NONE]),
    ("score rows.jsonl -o out.jsonl --scorer math --columns none.toml", 2, &["none.toml", NONE]),
    (
        "score rows.jsonl -o out.jsonl --scorer math --signing-key none.pem",
        2,
        &["none.pem", NONE, "openssl genpkey"],
    ),
    ("score rows.jsonl -o - --scorer math --json", 2, &["--json and '-o -'"]),
    ("score rows.jsonl -o out.jsonl --scorer math --shard 3/2", 2, &["3/2"]),
    ("score rows.jsonl -o out.jsonl --scorer math --retries 2", 2, &["--url <URL>"]),
    (
        "score rows.jsonl -o out.jsonl --scorer math --url http://127.0.0.1:1 --retries 0",
        1,
        &["http://127.0.0.1:1", "Connection refused"],
    ),
    ("merge none.parquet -o out.parquet", 2, &["none.parquet has no manifest"]),
    ("filter none.jsonl -o out.jsonl", 2, &["none.jsonl", NONE]),
    ("filter rows.jsonl -o out.jsonl --where respons=1", 2, &["near: 'response'"]),
    ("filter rows.jsonl -o out.jsonl --where response=", 2, &["--where: ", "an expression"]),
    (
        "filter scored.jsonl -o out.jsonl --where scores.has-box.score=1",
        2,
        &["between quotes: scores.\"has-box\".score"],
    ),
    (
        "filter scored.jsonl -o out.jsonl --where scores['has-box'].score=1",
        2,
        &["a dot cannot follow brackets", "scores['NAME']['score']"],
    ),
    ("filter rows.jsonl -o out.jsonl --sql DELETE", 2, &["--sql: "]),
    ("filter rows.jsonl -o out.xlsx", 2, &["'out.xlsx' says no format", ".parquet"]),
    ("filter rows.jsonl -o none/out.jsonl", 2, &["cannot write none/out.jsonl: "]),
    ("show none.jsonl", 2, &["none.jsonl", NONE]),
    ("show rows.jsonl", 2, &["nothing to show", "no column 'scores'"]),
    ("verify --gold 1", 2, &["--pred <TEXT>"]),
    ("calibrate none.jsonl -o c.json", 2, &["none.jsonl", NONE]),
    ("calibrate scored.jsonl -o c.json", 2, &["no column 'label'"]),
    ("eval none.jsonl --benchmark judge-bench --scorer arithmetic", 2, &["none.jsonl", NONE]),
    (
        "eval rows.jsonl --benchmark judgebench --scorer math",
        2,
        &["a similar value exists: 'judge-bench'"],
    ),
    ("train none.toml", 2, &["none.toml", NONE]),
    ("runs none", 2, &["none/metrics.jsonl", NONE]),
    ("rubric check none.yaml", 2, &["none.yaml", NONE]),
    ("models inspect none", 2, &["none", NONE]),
    ("models make-tiny --family qwen3 .", 2, &["is not empty; name another one, or remove it"]),
    ("config init bad.toml", 2, &["bad.toml exists already; name another file, or remove it"]),
    ("config check none.toml", 2, &["none.toml", NONE]),
    ("config show --config bad.toml", 2, &["bad.toml:2", "did you mean 'bind'?"]),
    ("config show --set limits.deadline", 2, &["--set 'limits.deadline' is not TABLE.KEY=VALUE"]),
    ("config check bad.toml", 2, &["bad.toml:2", "did you mean 'bind'?"]),
    ("config scorer regexp", 2, &["a similar value exists: 'regex'"]),
    (
        "config check scorers.toml",
        2,
        &[
            "scorer[0].tolerance: '0.1' is not one of exact, gold_digits",
            "scorer[0].tolerance: a number stands under 'absolute' or 'relative'",
            "scorer[0].relative: expected a number such as 0.05",
            "scorer[1].part[0].on_error: missing; it is one of fail, skip, floor",
            "scorer[1].part: no scorer 'nope'",
        ],
    ),
    ("serve --config none.toml", 2, &["none.toml", NONE]),
    ("serve --model judge", 2, &["--model: 'judge' is not NAME=PATH"]),
    ("serve --model judge=none", 2, &["judge", "none cannot be read"]),
    ("serve --set limits.deadlin=3s", 2, &["did you mean 'limits.deadline'?"]),
    ("serve --bind 0.0.0.0:8080", 2, &["api_keys_file"]),
];

#[test]
fn mistakes_end_with_what_is_wrong_and_what_is_right() {
    assert_eq!(MISTAKES.len(), 60);
    let folder = Folder::new();
    folder.write("rows.jsonl", "{\"response\": \"1\", \"reference\": \"1\"}\n");
    folder.write(
        "scored.jsonl",
        "{\"response\": \"1\", \"scores\": {\"math\": {\"status\": \"ok\", \"score\": 1.0}, \
         \"has-box\": {\"status\": \"ok\", \"score\": 1.0}}}\n",
    );
    folder.write("bad.toml", "[server]\nbint = \"127.0.0.1:1\"\n");
    folder.write(
        "scorers.toml",
        "[[scorer]]\nname = \"a\"\nkind = \"math\"\ntolerance = \"0.1\"\nrelative = true\n\
         [[scorer]]\nname = \"b\"\nkind = \"pipeline\"\ncombine = \"weighted_sum\"\n\
         part = [{ scorer = \"nope\", weight = 1 }]\n",
    );
    folder.write("model.toml", "[[model]]\nname = \"m\"\npath = \".\"\n");
    let before = folder.names();
    let wrong = |(line, code, parts): &Mistake| {
        let mut run = command(line.split_whitespace());
        let ran = run.current_dir(folder.path("")).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        let is_right = ran.status.code() == Some(*code)
            && parts.iter().all(|part| said.contains(part))
            && !said.contains("panicked");
        (!is_right).then(|| format!("tribunal {line}: {:?}: {said}", ran.status.code()))
    };
    let wrong: Vec<String> = MISTAKES.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(folder.names(), before, "nothing is left behind");
}
