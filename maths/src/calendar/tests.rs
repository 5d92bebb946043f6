use proptest::prelude::*;

use super::{Clock, Date, clock, date};

/// Writes year, month and day, 0 where open, with an exclamation mark where the order is ambiguous.
fn iso_text(date: Date) -> String {
    let Date { year, month, day, is_ambiguous } = date;
    let year = year.map_or("-".to_owned(), |year| year.to_string());
    let mark = if is_ambiguous { "!" } else { "" };
    format!("{year} {month} {}{mark}", day.unwrap_or(0))
}

fn check_date(texts: &str, expected: &str) {
    for text in texts.split(" ; ") {
        let found = date(text).map(iso_text).unwrap_or_default();
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn dates_are_read() {
    check_date(
        "July 4, 1776 ; 4 July 1776 ; Jul. 4th, 1776 ; 1776-07-04 ; July 4 1776",
        "1776 7 4",
    );
    check_date(
        "4.7.1776 ; 04.07.1776 ; 4th of July, 1776 ; the 4th of July 1776 ; 1776/7/4",
        "1776 7 4",
    );
    check_date(
        "Thursday, July 4, 1776 ; Thu 4 Jul 1776 ; on July 4, 1776. ; 1776年7月4日",
        "1776 7 4",
    );
    check_date(
        "4-Jul-1776 ; JULY 4, 1776 ; July 4, 1776 AD ; July 4, 1776 C.E. ; 1776 July 4",
        "1776 7 4",
    );
    check_date("7/4/1776 ; 07/04/1776 ; 7-4-1776", "1776 7 4!");
    check_date("12/25/2020 ; 25/12/2020 ; 12.25.2020 ; 25.12.2020 ; 25-12-2020", "2020 12 25");
    check_date("4/4/1776", "1776 4 4");
    check_date(
        "March 15, 44 BC ; 15 March 44 B.C. ; March 15, 44 BCE ; 15 Mar 44 B.C.E.",
        "-43 3 15",
    );
    check_date("February 29, 2024 ; 29/2/2024", "2024 2 29");
    check_date("Feb 29, 1500", "1500 2 29");
}

#[test]
fn dates_without_year_or_day_are_read() {
    check_date("May 9 ; 9 May ; May 9th ; the 9th of May", "- 5 9");
    check_date("July 1776 ; Jul 1776 ; July, 1776", "1776 7 0");
    check_date("Feb 29", "- 2 29");
}

#[test]
fn other_texts_are_no_date() {
    check_date(
        "Feb 30, 2020 ; February 29, 2023 ; Feb 29, 1900 ; 13/13/2020 ; 0/5/2020 ; 5/0/2020",
        "",
    );
    check_date(
        "6/12.5/2020 ; 1/2 ; 7/4/76 ; 1/2/3 ; July ; May ; 4 ; 1776 ; July 4, 76 ; 31.4.2020",
        "",
    );
    check_date(
        "July 4 and 5, 1776 ; Juli 4, 1776 ; 4 eggs ; 12-25/2020 ; July 4, 1776 1777 ; ",
        "",
    );
    check_date("4rd July 1776 ; July 4,, 1776 ; 10:30 ; 12345-01-01 ; July 32, 1776 ; May 0", "");
}

#[test]
fn days_agree() {
    let check = |left: &str, right: &str, expected: Option<bool>| {
        let day = |text| date(text).unwrap_or_else(|| panic!("no date: {text:?}"));
        assert_eq!(day(left).agrees(&day(right)), expected, "{left:?}, {right:?}");
        assert_eq!(day(right).agrees(&day(left)), expected, "{right:?}, {left:?}");
    };
    check("July 4, 1776", "4 July 1776", Some(true));
    check("July 4, 1776", "May 9, 1776", Some(false));
    check("7/4/1776", "July 4, 1776", Some(true));
    check("7/4/1776", "April 7, 1776", Some(true));
    check("7/4/1776", "4/7/1776", Some(true));
    check("7/4/1776", "July 5, 1776", Some(false));
    check("July 4, 1776", "July 4", None);
    check("July 4, 1776", "July 5", Some(false));
    check("July 4", "4 July", Some(true));
    check("July 1776", "July 4, 1776", None);
    check("July 1776", "August 4, 1776", Some(false));
    check("July 1776", "July 1777", Some(false));
}

fn check_clock(texts: &str, expected: &str) {
    for text in texts.split(" ; ") {
        let found = clock(text).map_or(String::new(), |clock| {
            let Clock { hour, minute, second, is_open_half, .. } = clock;
            let second = second.map_or(String::new(), |second| format!(":{second}"));
            let mark = if is_open_half { "?" } else { "" };
            format!("{hour}:{minute}{second}{mark}")
        });
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn times_are_read() {
    check_clock(
        "7:30 pm ; 19:30 ; 7:30pm ; 7:30 p.m. ; 7:30 PM ; 7:30 P.M. ; 07:30 pm ; 7.30 pm",
        "19:30",
    );
    check_clock("7 p.m. ; 7 pm ; 7pm ; 7:00 PM ; 7 o'clock pm ; 19:00", "19:0");
    check_clock("7:30", "7:30?");
    check_clock("07:30 ; 7:30 am ; 7:30 a.m.", "7:30");
    check_clock("7:30:15", "7:30:15?");
    check_clock("noon ; 12 noon ; 12 pm ; 12:00 p.m.", "12:0");
    check_clock("midnight ; 12 am ; 00:00 ; 24:00 ; 12 midnight", "0:0");
    check_clock("12:30", "12:30?");
    check_clock("7 o'clock", "7:0?");
    check_clock(
        "7:60 ; 25:00 ; 24:01 ; 7 ; 7:3 ; 13 am ; 0 pm ; 7:30 xm ; 1:2:3 ; 100:30 ; noon pm",
        "",
    );
    check_clock("7:30 eggs ; 1:30:75 ; : ; pm ; 7.30 ; 7m ; 7:30:", "");
}

#[test]
fn times_agree() {
    let check_open = |left: &str, right: &str, expected: Option<bool>| {
        let time = |text| clock(text).unwrap_or_else(|| panic!("no time: {text:?}"));
        assert_eq!(time(left).agrees(&time(right)), expected, "{left:?}, {right:?}");
        assert_eq!(time(right).agrees(&time(left)), expected, "{right:?}, {left:?}");
    };
    let check = |left, right, expected| check_open(left, right, Some(expected));
    check("7:30 pm", "19:30", true);
    check("7:30", "07:30", true);
    check("7:30", "7:30", true);
    check("19:30", "7:31", false);
    for (named, open) in [
        ("7:30 pm", "7:30"),
        ("7:30 am", "7:30"),
        ("noon", "12:00"),
        ("midnight", "12:00"),
        ("19:30", "7:30"),
    ] {
        check_open(named, open, None);
    }
    check("7:30 am", "7:30 pm", false);
    check("07:30", "7:30 pm", false);
    check("7:30", "7:30:00", true);
    check("7:30", "7:30:15", false);
    check("7:30", "7:31", false);
}

proptest! {
    #[test]
    fn any_text_ends_without_panic(text in "[0-9a-zA-Z:./, 年月日'-]{0,20}") {
        if let Some(date) = date(&text) {
            prop_assert!(date.agrees(&date) == Some(true));
        }
        if let Some(clock) = clock(&text) {
            prop_assert!(clock.agrees(&clock) == Some(true));
        }
    }
}
