use dashu::rational::RBig;
use proptest::prelude::*;

use super::{suffix, words};

fn check(texts: &str, expected: &str) {
    for text in texts.split(" ; ") {
        let expected: RBig = expected.parse().expect("the test writes fractions");
        assert_eq!(words(text), Some(expected), "{text:?}");
    }
}

fn check_none(texts: &str) {
    for text in texts.split(" ; ") {
        assert_eq!(words(text), None, "{text:?}");
    }
}

#[test]
fn cardinals_are_read() {
    check("zero", "0");
    check("twelve ; Twelve ;  TWELVE  ; a dozen ; one dozen", "12");
    check("twenty-one ; twenty one", "21");
    check("one hundred ; a hundred", "100");
    check("one hundred and five ; one hundred five", "105");
    check("two thousand twenty-four ; two thousand and twenty-four", "2024");
    check("nineteen hundred", "1900");
    check("twelve hundred and fifty", "1250");
    check("one million, two hundred thirty-four thousand, five hundred sixty-seven", "1234567");
    check("a million", "1000000");
    check("nine hundred ninety-nine quadrillion", "999000000000000000");
    check("minus seven ; negative seven", "-7");
    check("half a dozen", "6");
    check("two dozen", "24");
}

#[test]
fn ordinals_are_read() {
    check("third ; 3rd", "3");
    check("twenty-first ; 21st ; twenty first", "21");
    check("eleventh ; 11th", "11");
    check("twelfth ; 12TH", "12");
    check("hundredth ; 100th", "100");
    check("one hundred third", "103");
    check("two hundredth", "200");
    check("one hundred and twentieth", "120");
}

#[test]
fn fractions_are_read() {
    check("one half ; half ; a half ; one-half", "1/2");
    check("two thirds ; two-thirds", "2/3");
    check("three quarters ; three-quarters ; three fourths", "3/4");
    check("one third ; a third ; one-third", "1/3");
    check("one twenty-fifth", "1/25");
    check("three twenty-fifths", "3/25");
    check("twenty-one hundredths", "21/100");
    check("one hundredth ; a hundredth", "1/100");
    check("three halves", "3/2");
    check("minus one half", "-1/2");
    check("one and a half", "3/2");
    check("two and three quarters ; two and three-quarters", "11/4");
    check("twenty-one and one third", "64/3");
}

#[test]
fn decimals_are_read() {
    check("three point one four", "314/100");
    check("zero point five ; point five", "1/2");
    check("one point five million", "1500000");
    check("minus two point oh five", "-205/100");
}

#[test]
fn other_words_are_no_number() {
    check_none(
        "hundred ; thousand ; dozen ; and ; point ; one point ; five and ; hundred and five",
    );
    check_none("nineteen eighty-four ; one two ; twenty eleven ; one thousand thousand ; zero one");
    check_none("two third ; one thirds ; twelve eggs ; iv ; XII ; a ; an ; one hundred hundred");
    check_none(
        "12 ; 21th ; 11st ; 22st ; twenty--one ; -one ; vingt-et-un ; one+two ; minus ; twenty-zero",
    );
    check_none(
        "one million million ; five hundred million thousand ; ; two and three halves ; once",
    );
    check_none("one second ; two seconds ; ten hundred ; th ; s ; minus minus one");
}

#[test]
fn ordinal_suffixes_are_read() {
    let ordinals: Vec<_> = [0, 1, 2, 3, 4, 11, 12, 13, 21, 22, 111, 112, 123]
        .iter()
        .map(|number| suffix(*number))
        .collect();
    let expected = "th st nd rd th th th th st nd th th rd";
    assert_eq!(ordinals.join(" "), expected);
}

/// Returns `number` in words.
fn spelled(number: u64) -> String {
    const SMALL: [&str; 20] = [
        "",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 10] =
        ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let index = |number: u64| usize::try_from(number).expect("it is small");
    match number {
        0..20 => SMALL[index(number)].to_owned(),
        20..100 => format!("{} {}", TENS[index(number / 10)], spelled(number % 10)),
        100..1_000 => format!("{} hundred {}", spelled(number / 100), spelled(number % 100)),
        1_000..1_000_000 => {
            format!("{} thousand {}", spelled(number / 1_000), spelled(number % 1_000))
        }
        _ => format!("{} million {}", spelled(number / 1_000_000), spelled(number % 1_000_000)),
    }
}

proptest! {
    #[test]
    fn spelled_number_is_read_back(number in 1u64..1_000_000_000) {
        prop_assert_eq!(words(&spelled(number)), Some(RBig::from(number)));
    }

    #[test]
    fn any_text_ends_without_panic(text in "(one|two|twenty|hundred|million|third|half|and|a|point|dozen|s|-| ){0,12}") {
        let _ = words(&text);
    }
}
