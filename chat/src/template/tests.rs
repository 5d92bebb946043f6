//! The language against jinja2 3.1.6 with the settings of transformers: the texts are what that
//! renders, and what is refused here fails there, unless a comment says otherwise.

use serde_json::{Map, Value as Json, json};

use super::ChatTemplate;
use crate::conversation::Conversation;

fn render(source: &str, kwargs: Map<String, Json>) -> Result<String, String> {
    let messages = vec![
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": "yo"}),
    ];
    let conversation = Conversation { messages, kwargs, ..Conversation::default() };
    let sources = vec![("default".to_owned(), source.to_owned())];
    let tokens = vec![("eos_token".to_owned(), "</s>".to_owned())];
    let template = ChatTemplate::new(sources, tokens).map_err(|e| e.to_string())?;
    let rendered = template.render(&conversation).map_err(|e| e.to_string())?;
    Ok(rendered.as_str().to_owned())
}

fn variables() -> Map<String, Json> {
    let ends = "a\r\nb\x0bc\x0cd\x1ce\x1df\x1eg\u{85}h\u{2028}i\u{2029}j\x1fk\n\nl";
    let objects = json!([{"n": "a", "c": "X"}, {"n": "A", "c": "Y"}, {"n": "b"}]);
    Map::from_iter([("d".to_owned(), objects), ("s".to_owned(), json!(ends))])
}

fn check(source: &str, expected: &str) {
    assert_eq!(render(source, variables()).as_deref(), Ok(expected), "{source}");
}

fn refused(source: &str, why: &str) {
    let error = render(source, variables()).expect_err(source);
    assert!(error.contains(why), "{source}: {error}");
}

#[test]
fn line_ends_of_the_source_are_newlines() {
    check("a\r\n{{ 1 }}\r\nb\r\n", "a\n1\nb");
    check("a\rb\r", "a\nb");
    check("{{ 'x\r\ny'|tojson }}", "\"x\\ny\"");
    check("{% if true %}\r\nx\r\n{% endif %}\r\ny", "x\ny");
    check("{{ '\\r\\n'|tojson }}", "\"\\r\\n\"");
    check("a\n\r\nb\n\n", "a\n\nb\n");
}

#[test]
fn results_of_filters_are_true_even_if_empty() {
    check(
        "{% if messages|selectattr('role', 'equalto', 'system') %}SYS{% else %}NONE{% endif %}",
        "SYS",
    );
    check(
        "{% for f in [[]|map('upper'), []|select, []|reject, []|rejectattr('a'), []|unique, []|batch(2), []|slice(2), {}|items, []|reverse, u|items, u|reverse, none|select] %}{{ 'y' if f else 'n' }}{% endfor %}",
        "yyyyyyyyyyyy",
    );
    check(
        "{% for f in [[]|list, []|sort, []|select|list, []|select|reverse, []|groupby('a'), ''|reverse] %}{{ 'y' if f else 'n' }}{% endfor %}",
        "nnnnnn",
    );
    check(
        "{{ []|select|default('x', true)|list }}{{ not []|select }}{{ []|select and 1 }}",
        "[]False1",
    );
}

#[test]
fn results_of_filters_are_read_once() {
    check("{% set g = [1, 2]|map('string') %}{{ g|join }}|{{ g|join }}|{{ g|list }}", "12||[]");
    check(
        "{% set g = [1, 2]|select %}{% for i in [1, 2] %}{% for x in g %}{{ x }}{% else %}E{% endfor %}{% endfor %}",
        "12E",
    );
    check(
        "{% set g = []|select %}{{ g|first is defined }}{{ g|map('upper')|list }}{{ g|list }}",
        "False[][]",
    );
    check("{% set g = [1, 2]|select %}{{ 5 in g }}{{ g|list }}", "False[]");
    check(
        "{% set g = [1, 2]|select %}{{ g|sort }}{{ g|sum }}{% set g = [1, 2]|select %}{{ g|max }}{{ g|min is defined }}",
        "[1, 2]02False",
    );
    check("{% set g = [1, 2]|select %}{{ 1 if g }}{{ g is iterable }}{{ g|list }}", "1True[1, 2]");
}

#[test]
fn results_of_filters_serve_where_python_reads_them() {
    check(
        "{{ ', '.join(['a', 'b']|map('upper')) }}{% set a, b = [1, 2]|map('string') %}{{ a ~ b }}",
        "A, B12",
    );
    check(
        "{% macro m(a, b) %}{{ a }}-{{ b }}{% endmacro %}{{ m(*([1, 2]|map('string'))) }}",
        "1-2",
    );
    check(
        "{% for x in [1, 2, 3]|select %}{{ loop.index }}/{{ loop.length }}{{ loop.last }} {% endfor %}",
        "1/3False 2/3False 3/3True ",
    );
    check(
        "{% for k, v in {'a': 1}|items %}{{ k }}{{ v }}{% endfor %}{{ {'a': 1, 'b': 2}|reverse|list }}",
        "a1['b', 'a']",
    );
    check(
        "{{ [3, 1, 2]|select|reverse|length }}{{ [3, 1]|reverse|list }}{{ [1, 2, 3]|batch(2)|list }}{{ [1, 2, 3]|slice(slices=2)|list }}{{ [1]|batch(linecount=2, fill_with=0)|list }}",
        "3[1, 3][[1, 2], [3]][[1, 2], [3]][[1, 0]]",
    );
    check(
        "{{ [1]|select == [1] }}{% set g = [1]|select %}{{ g == g }}{{ g is sameas g }}{{ [1]|select|int }}{{ 2 in [1, 2]|select }}",
        "FalseTrueTrue0True",
    );
    check(
        "{{ ([1]|select)[0] is defined }}{{ ([1]|select)['a'] is defined }}{{ ([1]|select).count is defined }}{{ [1]|select|attr('x') is defined }}",
        "FalseFalseFalseFalse",
    );
    check(
        "{{ none|select|list }}{{ 0|map('upper')|list }}{{ tools|selectattr('a')|list }}",
        "[][][]",
    );
    check("{{ messages|map(attribute='role')|unique|map('upper')|join(',') }}", "USER,ASSISTANT");
}

#[test]
fn what_python_cannot_do_with_a_generator_is_refused() {
    // Jinja writes the address of a generator as text.
    refused("{{ [1]|select|length }}", "must go through `list` first");
    refused("{{ [1]|select }}", "must go through `list` first");
    refused("{{ [[1]|select] }}", "must go through `list` first");
    refused("{{ [1]|select ~ '' }}", "must go through `list` first");
    refused("{{ [1]|map('string')|tojson }}", "must go through `list` first");
    refused("{{ ([1]|select)[:1] }}", "must go through `list` first");
    refused("{{ [1]|reverse|last }}", "must go through `list` first");
    refused("{{ [1]|select + [1] }}", "`+` is not defined for generator and list");
    refused("{{ [1]|select * 2 }}", "`*` is not defined for generator and int");
    refused("{{ [1]|select < [1]|select }}", "generator and generator cannot be ordered");
    refused("{{ none|unique|list }}", "None is not iterable");
}

#[test]
fn results_of_filters_that_were_read_in_part_are_refused() {
    // Jinja goes on where the first reader stopped, or finds what a filter of a filter has left.
    refused("{% set g = [1, 2]|select %}{{ g|first }}{{ g|list }}", "read a second time");
    refused("{% set g = [1, 2]|select %}{{ 1 in g }}{{ g|list }}", "read a second time");
    refused(
        "{% set g = [1, 2]|select %}{% set h = g|map('string') %}{{ g|list }}{{ h|list }}",
        "read a second time",
    );
    refused(
        "{% set g = [1, 2]|select %}{% for x in g %}{% break %}{% endfor %}{{ g|list }}",
        "read a second time",
    );
    refused(
        "{% set g = [1, 2]|select %}{% for x in g %}{{ g|list }}{% endfor %}",
        "read a second time",
    );
}

#[test]
fn kinds_of_values_are_jinjas() {
    check(
        "{{ u is sequence }}{{ u is iterable }}{{ none is sequence }}{{ 1 is iterable }}",
        "TrueTrueFalseFalse",
    );
    check(
        "{{ {} is sequence }}{{ (1,) is sequence }}{{ '' is sequence }}{{ namespace() is sequence }}",
        "TrueTrueTrueFalse",
    );
    check(
        "{% set g = [1]|select %}{{ g is sequence }}{{ g is iterable }}{{ g is mapping }}{{ g is string }}{{ g is callable }}{{ g is defined }}",
        "FalseTrueFalseFalseFalseTrue",
    );
}

#[test]
fn raw_blocks_keep_their_newlines_and_spaces() {
    check("{% raw %}\nfoo{% endraw %}\nbar", "\nfoobar");
    check("{%raw%}\n{{a}}{%endraw%}", "\n{{a}}");
    check("a\n  {% raw %} {% endraw %}b", "a\n b");
    check("{% raw %}  {% endraw %}x", "  x");
    check("{% raw %} \n  {% endraw %}x", " \nx");
    check("{% raw -%}\n foo {%- endraw -%}\n bar", "foobar");
    check("  {% raw %}\na\n  {%+ endraw +%}\nb", "\na\n  \nb");
    check("{% raw -%}  {% endraw %}b", "b");
    check("{% raw %}a  {% endraw %}b", "a  b");
    check("x{% raw %} {%- endraw %}b", "xb");
    check("{% raw %}\r\n{% endraw %}b", "\nb");
    check("{% raw %}{% generation %}\n{% endraw %}{% raw %}\n{% endraw %}", "{% generation %}\n\n");
}

#[test]
fn filters_of_lists_take_their_arguments() {
    check(
        "{{ ['a', 'A', 'b']|unique|list }}{{ ['a', 'A']|unique(true)|list }}{{ ['a', 'A']|unique(case_sensitive=true)|list }}{{ [1, true, 1.0]|unique|list }}",
        "['a', 'b']['a', 'A']['a', 'A'][1]",
    );
    check(
        "{{ d|unique(attribute='n')|map(attribute='n')|list }}{{ d|unique(true, 'n')|map(attribute='n')|list }}{{ d|unique(attribute='c')|map(attribute='n')|list }}",
        "['a', 'b']['a', 'A', 'b']['a', 'A', 'b']",
    );
    check(
        "{% for g in d|groupby('n') %}{{ g.grouper }}:{{ g.list|length }}{{ g['list']|length }}{{ g[0] }}{{ g|attr('grouper') }}{{ g.other is defined }};{% endfor %}",
        "a:22aaFalse;b:11bbFalse;",
    );
    check(
        "{% for k, v in d|groupby('n', case_sensitive=true) %}{{ k }}:{{ v|length }};{% endfor %}{% for k, v in d|groupby('c', 'Q') %}{{ k }}:{{ v|length }};{% endfor %}",
        "A:1;a:1;b:1;Q:1;X:1;Y:1;",
    );
    check(
        "{{ ['B', 'a']|min }}{{ ['B', 'a']|min(true) }}{{ ['B', 'a']|max }}{{ ['B', 'a']|max(case_sensitive=true) }}{{ ['a', 'A']|max }}{{ ['a', 'A']|min }}{{ (d|max(attribute='n')).n }}{{ (d|min(false, 'n')).n }}",
        "aBBaaaba",
    );
    check(
        "{{ ['b', 'A', 'a']|sort }}{{ ['b', 'A', 'a']|sort(case_sensitive=true) }}{{ ['b', 'A', 'a']|sort(true) }}",
        "['A', 'a', 'b']['A', 'a', 'b']['b', 'A', 'a']",
    );
    check(
        "{{ d|map(attribute='c', default='Z')|list }}{{ d|map(attribute='x.y', default='Z')|list }}{{ d|map(attribute='c', default=none)|join('-') }}",
        "['X', 'Y', 'Z']['Z', 'Z', 'Z']X-Y-",
    );
    check(
        "{{ (d|groupby('n'))[1] }}{{ (d|groupby('n'))[1]|tojson }}{{ (d|groupby('n'))[0][:2].grouper is defined }}{{ (d|groupby('n'))[1] == ('b', [{'n': 'b'}]) }}",
        "('b', [{'n': 'b'}])[\"b\", [{\"n\": \"b\"}]]FalseTrue",
    );
    refused("{{ [[1]]|unique|list }}", "list cannot be a key");
    refused("{{ d|unique|list }}", "dict cannot be a key");
    refused("{{ ['a']|unique(other=1)|list }}", "`unique` takes no argument `other`");
}

#[test]
fn filters_of_numbers_and_texts_take_their_arguments() {
    // Jinja knows other bases.
    check(
        "{{ 42|int(0, 16) }} {{ 42.9|int(0, 16) }} {{ '42'|int(0, 10) }} {{ none|int(7, 16) }} {{ 'x'|int(default=3) }}",
        "42 42 42 7 3",
    );
    check(
        "{{ 42|round }} {{ 42|round(1) }} {{ true|round }} {{ 42|round(0, 'ceil') }} {{ 42|round(method='floor') }} {{ 42.5|round }} {{ 43.5|round }} {{ 42.55|round(1) }}",
        "42 42 1 42.0 42.0 42.0 44.0 42.5",
    );
    check(
        "{{ 45|round(-1) }} {{ 55|round(-1) }} {{ -45|round(-1) }} {{ -56|round(-1) }} {{ 46|round(-1) }} {{ 1250|round(-2) }} {{ 1350|round(-2) }} {{ 42|round(-3) }} {{ 42|round(-60) }}",
        "40 60 -40 -60 50 1200 1400 0 0",
    );
    check(
        "{{ 'a-b c'|wordcount }} {{ 'it_s 2nd'|wordcount }} {{ ''|wordcount }} {{ '- -'|wordcount }} {{ 'é,ü'|wordcount }} {{ 12.5|wordcount }} {{ '你好 世界'|wordcount }}",
        "3 2 0 0 2 2 2",
    );
    check(
        "{{ d[0]|attr('n') is defined }} {{ (d[0]|attr('get'))('n') }} {{ ' a '|attr('strip') is defined }} {{ namespace(a=1)|attr('a') }} {% for x in [1] %}{{ loop|attr('index') }}{% endfor %} {{ none|attr('x') is defined }}",
        "False a True 1 1 False",
    );
    refused("{{ 'ff'|int(0, 16) }}", "no other `base` than 10");
    refused("{{ 'ff'|int(base=16) }}", "no other `base` than 10");
    refused("{{ 1|round(digits=1) }}", "`round` takes no argument `digits`");
    refused("{{ u|attr('x') }}", "undefined");
}

#[test]
fn indent_ends_lines_as_python() {
    check(
        "{{ s|indent }}",
        "a\n    b\n    c\n    d\n    e\n    f\n    g\n    h\n    i\n    j\x1fk\n\n    l",
    );
    check(
        "{{ s|indent(2, true) }}",
        "  a\n  b\n  c\n  d\n  e\n  f\n  g\n  h\n  i\n  j\x1fk\n\n  l",
    );
    check(
        "{{ s|indent(2, blank=true) }}",
        "a\n  b\n  c\n  d\n  e\n  f\n  g\n  h\n  i\n  j\x1fk\n  \n  l",
    );
    check(
        "{{ ''|indent(2, true) }}|{{ '\n'|indent(2, true, true) }}|{{ 'a\n'|indent(2) }}|{{ 'a\n'|indent(2, blank=true) }}",
        "  |  \n  |a\n|a\n  ",
    );
    check(
        "{{ 'a\\r'|indent(2, blank=true) }}|{{ 'a\\r\\n\\r\\nb'|indent('> ')|tojson }}",
        "a|\"a\\n\\n> b\"",
    );
}

#[test]
fn tojson_escapes_as_python() {
    check(
        "{{ '\\x7f\\x1f\\u2028é'|tojson }}{{ '\\x7f\\x1fé😀~'|tojson(ensure_ascii=true) }}{{ {'\\x7f': 1}|tojson(true) }}",
        "\"\x7f\\u001f\u{2028}é\"\"\\u007f\\u001f\\u00e9\\ud83d\\ude00~\"{\"\\u007f\": 1}",
    );
}

#[test]
fn any_number_of_switches_costs_no_steps() {
    let switches = (0..10_000).map(|i| (format!("switch{i}"), json!(i)));
    let check = |source: &str, expected: &str| {
        let switches = switches.clone().chain([("pad_token".to_owned(), json!("given"))]);
        assert_eq!(render(source, switches.collect()).as_deref(), Ok(expected), "{source}");
    };
    check("{{ eos_token }}{{ pad_token }}{{ switch9999 }}{{ messages|length }}", "</s>given99992");
    check("{% for i in range(99999) %}{% if absent %}a{% endif %}{% endfor %}b", "b");
    // As in transformers, a switch wins over a special token.
    let mine = Map::from_iter([("eos_token".to_owned(), json!("mine"))]);
    assert_eq!(render("{{ eos_token }}", mine).as_deref(), Ok("mine"));
    let taken = Map::from_iter([("tools".to_owned(), json!(1))]);
    assert!(render("", taken).unwrap_err().contains("`tools` is no switch"));
}

#[test]
fn names_are_charged_by_those_they_are_compared_with() {
    let repeat = |n: usize, each: fn(usize) -> String| (0..n).map(each).collect::<String>();
    let name = |i: usize| format!("{{%set a{i}=0%}}");
    let field = |i: usize| format!("{{%set ns.a{i}=0%}}");
    let read = |what: &str| format!("{{%for i in range(99999)%}}{{{{{what}}}}}{{%endfor%}}");
    let start = "{%set ns=namespace()%}";
    let check = |source: &str, within: bool| {
        let shown: String = source.chars().take(40).collect();
        match render(source, Map::new()) {
            Ok(_) => assert!(within, "{shown}"),
            Err(error) => assert!(!within && error.contains("steps"), "{shown}: {error}"),
        }
    };
    check(&repeat(5_000, name), true);
    check(&repeat(20_000, name), false);
    check(&(repeat(5_000, name) + &read("a4999")), false);
    check(&(repeat(50, name) + &read("a49")), true);
    check(&(start.to_owned() + &repeat(5_000, field)), true);
    check(&(start.to_owned() + &repeat(20_000, field)), false);
    check(&(start.to_owned() + &repeat(5_000, field) + &read("ns.a4999")), false);
    // A name is compared to its end.
    let long = format!("a{}", "b".repeat(100_000));
    check(&format!("{{%set {long}=0%}}{}", read(&long)), false);
    check(&read(&long), false);
}
