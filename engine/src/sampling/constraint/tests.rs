use super::*;
use serde_json::json;
use std::time::Instant;

fn vocab() -> Vocabulary {
    let tokens: Vec<Vec<u8>> = (0..=255u8)
        .map(|b| vec![b])
        .chain([b"ab".to_vec(), b"\": ".to_vec(), vec![]])
        .collect();
    Vocabulary::of(tokens, &[258]).unwrap()
}

#[test]
#[ignore = "experiment"]
fn bombs() {
    let v = vocab();
    let t = |name: &str, g: Grammar| {
        let t0 = Instant::now();
        let r = v.compile(&g);
        let t1 = t0.elapsed();
        let mut steps = 0;
        let mut err = None;
        let mut worst = std::time::Duration::ZERO;
        let ok = r.as_ref().map(|_| ()).map_err(|e| e.to_string());
        if let Ok(mut c) = r {
            for i in 0..300u32 {
                let t2 = Instant::now();
                let m = match c.mask() {
                    Ok(m) => m,
                    Err(e) => {
                        err = Some(e);
                        break;
                    }
                };
                let all: Vec<u32> = (0..258).filter(|x| m.allows(*x)).collect();
                if all.is_empty() {
                    break;
                }
                let id = all[(i as usize * 7919) % all.len()];
                if let Err(e) = c.accept(id) {
                    err = Some(e);
                    break;
                }
                worst = worst.max(t2.elapsed());
                steps += 1;
                if c.is_complete() {
                    break;
                }
            }
        }
        println!("{name}: compile {t1:?} {ok:?}; {steps} steps, worst {worst:?}, {err:?}");
    };
    t("(a{1000}){1000}", Grammar::Regex("(a{1000}){1000}".into()));
    t(
        "((a{100}){100}){100}",
        Grammar::Regex("((a{100}){100}){100}".into()),
    );
    t("(a|aa){1000}", Grammar::Regex("(a|aa){1000}".into()));
    t("(a*)*b", Grammar::Regex("(a*)*b".into()));
    t("(.*a){20}", Grammar::Regex("(.*a){20}".into()));
    t(".*a.{20}", Grammar::Regex("(?s).*a.{20}".into()));
    t("(x+x+)+y", Grammar::Regex("(x+x+)+y".into()));
    t(
        "([a-z]{1,1000}[0-9]){1000}",
        Grammar::Regex("([a-z]{1,1000}[0-9]){1000}".into()),
    );
    t("\\p{L}{1000}", Grammar::Regex("\\p{L}{1000}".into()));
    t(
        "nest",
        Grammar::Regex(format!("{}a{}", "(".repeat(5000), ")".repeat(5000))),
    );
    t(
        "nest*",
        Grammar::Regex(format!("{}a{}", "(".repeat(200), ")*".repeat(200))),
    );
    t("lookahead", Grammar::Regex("(?=a)b".into()));
    t("backref", Grammar::Regex("(a)\\1".into()));
    t("bad", Grammar::Regex("(a".into()));
    t("anchors", Grammar::Regex("^abc$".into()));
    t("mid anchor", Grammar::Regex("a^b".into()));
    t("wordb", Grammar::Regex("\\bab".into()));
    t("empty class", Grammar::Regex("[^\\x00-\\x{10FFFF}]".into()));
    t("emptyregex", Grammar::Regex("()".into()));
    t("a{1000000000}", Grammar::Regex("a{1000000000}".into()));
    t(
        "a{4000000000}{40}",
        Grammar::Regex("(a{4000000000}){40}".into()),
    );
    let s = |name: &str, v: Value| t(name, Grammar::JsonSchema(v));
    s("false", json!(false));
    s("true", json!(true));
    s("{}", json!({}));
    s(
        "maxItems 10000",
        json!({"type":"array","items":{"type":"integer"},"maxItems":10000}),
    );
    s(
        "minItems 10000",
        json!({"type":"array","items":{"type":"integer"},"minItems":10000}),
    );
    s(
        "nested minItems",
        json!({"type":"array","minItems":10000,"maxItems":10000,"items":{"type":"array","minItems":10000,"maxItems":10000,"items":{"type":"array","minItems":9999,"maxItems":10000,"items":{"type":"string"}}}}),
    );
    s(
        "prefixItems+max",
        json!({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"string"},"maxItems":10000}),
    );
    s(
        "maxLength 10000",
        json!({"type":"string","maxLength":10000}),
    );
    s(
        "minLength 10000",
        json!({"type":"string","minLength":10000}),
    );
    s(
        "pattern+len",
        json!({"type":"string","pattern":"^(a|b)*c$","minLength":5000, "maxLength": 9000}),
    );
    s(
        "pattern bomb",
        json!({"type":"string","pattern":"(a{1000}){1000}"}),
    );
    s("minProps", json!({"type":"object","minProperties":10000}));
    s("maxProps", json!({"type":"object","maxProperties":10000}));
    s(
        "enum 2000",
        json!({"enum": (0..2000).map(|i| format!("value number {i} {}", i*7919)).collect::<Vec<_>>()}),
    );
    s(
        "1000 props",
        json!({"type":"object","properties": (0..1000).map(|i| (format!("p{i}"), json!({"type":"string"}))).collect::<serde_json::Map<_,_>>()}),
    );
    s(
        "3000 opt props nested",
        json!({"type":"object","properties": (0..30).map(|i| (format!("p{i}"), json!({"type":"object","properties": (0..100).map(|j| (format!("q{j}"), json!({"type":"number"}))).collect::<serde_json::Map<_,_>>()}))).collect::<serde_json::Map<_,_>>()}),
    );
    let mut deep = json!({"type":"string"});
    for _ in 0..15 {
        deep = json!({"type":"array","items":deep});
    }
    s("deep", deep);
    let mut b = json!({"type":"integer"});
    for _ in 0..10 {
        b = json!({"anyOf":[b.clone(), {"type":"array","items":b}]});
    }
    s("anyOf doubling", b);
    let mut a = json!({"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]});
    a = json!({"allOf": vec![a; 12]});
    s("allOf anyOf product", a);
    s("ref self", json!({"$ref":"#"}));
    s(
        "ref loop",
        json!({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}),
    );
    s(
        "infinite",
        json!({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"],"additionalProperties":false}),
    );
    s(
        "tree",
        json!({"type":"object","properties":{"v":{"type":"integer"},"k":{"type":"array","items":{"$ref":"#"}}},"required":["v"],"additionalProperties":false}),
    );
    s("ref dangling", json!({"$ref":"#/$defs/nope"}));
    s("ref http", json!({"$ref":"http://localhost:1/x"}));
    s(
        "required false",
        json!({"type":"object","properties":{"a":false},"required":["a"]}),
    );
    s("min>max", json!({"type":"integer","minimum":5,"maximum":3}));
    s(
        "int gap",
        json!({"type":"integer","minimum":5.2,"maximum":5.8}),
    );
    s(
        "contradiction",
        json!({"allOf":[{"type":"string"},{"type":"integer"}]}),
    );
    s("enum type", json!({"type":"integer","enum":["a"]}));
    s("not", json!({"not":{"type":"string"}}));
    s(
        "oneOf",
        json!({"oneOf":[{"type":"string"},{"type":"string","maxLength":3}]}),
    );
    s(
        "oneOf disjoint",
        json!({"oneOf":[{"type":"string"},{"type":"integer"}]}),
    );
    s("uniqueItems", json!({"type":"array","uniqueItems":true}));
    s(
        "bad schema uri",
        json!({"$schema":"http://evil/x","type":"string"}),
    );
    s("id", json!({"$id":"http://evil/x","type":"string"}));
    s("format unknown", json!({"type":"string","format":"zzz"}));
    s(
        "format email pattern",
        json!({"type":"string","format":"email","minLength":6,"maxLength":2000}),
    );
    s("multipleOf", json!({"type":"integer","multipleOf":1234567}));
    s(
        "multipleOf tiny",
        json!({"type":"number","multipleOf":1e-30}),
    );
    s(
        "num range",
        json!({"type":"number","minimum":-1e300,"maximum":1e300}),
    );
    s(
        "patternProperties",
        json!({"type":"object","patternProperties":{"^a+$":{"type":"integer"},"^b+$":{"type":"string"}},"additionalProperties":false}),
    );
    s(
        "patternProperties overlap",
        json!({"type":"object","patternProperties":{"^a":{"type":"integer"},"b$":{"type":"string"}},"additionalProperties":false}),
    );
    t(
        "choice",
        Grammar::Choice(vec!["a".into(), "ab".into(), "é/\\\n\"".into()]),
    );
    t(
        "choice 2000",
        Grammar::Choice(
            (0..2000)
                .map(|i| format!("the answer is {i} and {}", i * 31))
                .collect(),
        ),
    );
    t(
        "choice prefix 2000",
        Grammar::Choice((1..350).map(|i| "a".repeat(i)).collect()),
    );
    t(
        "lark",
        Grammar::Lark("start: \"a\" start \"b\" | \"c\"".into()),
    );
    t(
        "lark ambiguous",
        Grammar::Lark("start: start start | \"a\" | \"\"".into()),
    );
    t("lark infinite", Grammar::Lark("start: \"a\" start".into()));
    t(
        "lark special",
        Grammar::Lark("start: \"a\" <[258]> \"b\"".into()),
    );
    t(
        "lark doubling",
        Grammar::Lark(
            (0..40)
                .map(|i| format!("r{i}: r{} r{}\n", i + 1, i + 1))
                .collect::<String>()
                + "r40: \"a\"\nstart: r0",
        ),
    );
    t("lark bad", Grammar::Lark("start: nope".into()));
    t(
        "lark regex bomb",
        Grammar::Lark("start: /(a{1000}){1000}/ | /((b|c){100}){1000}/".into()),
    );
    t(
        "lark rep",
        Grammar::Lark("start: (\"a\"{1000}){1000}".into()),
    );
    t(
        "lark rep rules",
        Grammar::Lark("start: x{0,100000}\nx: \"a\" | \"b\" x".into()),
    );
    t(
        "lark max_tokens",
        Grammar::Lark("start: x\nx[max_tokens=2]: /.*/".into()),
    );
    t(
        "lark json",
        Grammar::Lark("start: %json {\"$ref\":\"http://localhost:1/a\"}".into()),
    );
}
