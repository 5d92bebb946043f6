use dashu::rational::RBig;
use proptest::prelude::*;

use super::{Conversion, Measure, constant_named, parse_marked_unit, parse_unit};

fn read_measure(text: &str) -> Measure {
    parse_marked_unit(text).unwrap_or_else(|| panic!("no unit: {text:?}"))
}

/// Checks that `value` of the one unit is `expected` of the other.
fn check(value: &str, from: &str, expected: &str, to: &str) {
    let number = |text: &str| text.parse::<RBig>().expect("the test writes fractions");
    let found = match read_measure(from).conversion(&read_measure(to)) {
        Conversion::Same => number(value),
        Conversion::Linear { factor, offset } => number(value) * factor + offset,
        other @ (Conversion::OtherDimension | Conversion::OtherThing) => {
            panic!("{from:?} to {to:?}: {other:?}")
        }
    };
    assert_eq!(found, number(expected), "{value} {from} in {to}");
}

/// Checks that every pair of the units, which ` ; ` separates, is the same.
fn check_same(table: &str) {
    for from in table.split(" ; ") {
        for to in table.split(" ; ") {
            let found = read_measure(from).conversion(&read_measure(to));
            assert_eq!(found, Conversion::Same, "{from:?}, {to:?}");
        }
    }
}

fn check_other(from: &str, to: &str, expected: &Conversion) {
    let (from, to) = (read_measure(from), read_measure(to));
    assert_eq!(&from.conversion(&to), expected, "{from:?} {to:?}");
    assert_eq!(&to.conversion(&from), expected, "{to:?} {from:?}");
}

fn check_no_unit(table: &str) {
    for text in table.split(" ; ") {
        assert_eq!(parse_unit(text), None, "{text:?}");
    }
}

#[test]
fn factors_are_exact() {
    check("1", "km", "1000", "m");
    check("1", "L", "1000", "cm^3");
    check("36", "km/h", "10", "m/s");
    check("1", "mile", "1609344/1000000", "km");
    check("1", "$", "100", "cents");
    check("1", "foot", "12", "inches");
    check("1", "yard", "3", "feet");
    check("1", "mile", "5280", "ft");
    check("1", "square mile", "640", "acres");
    check("1", "gallon", "4", "quarts");
    check("1", "quart", "2", "pints");
    check("1", "pint", "2", "cups");
    check("1", "cup", "8", "fluid ounces");
    check("1", "cup", "16", "tablespoons");
    check("1", "tablespoon", "3", "teaspoons");
    check("1", "gallon", "231", "cubic inches");
    check("1", "pound", "16", "ounces");
    check("1", "ton", "2000", "lb");
    check("1", "tonne", "1000", "kg");
    check("1", "week", "168", "hours");
    check("2", "years", "24", "months");
    check("1", "century", "10", "decades");
    check("1", "degree", "60", "arcminutes");
    check("1", "KiB", "8192", "bits");
    check("1", "KB", "1000", "B");
    check("8", "Mbps", "1", "MB/s");
    check("1", "kWh", "3600000", "J");
    check("1", "N", "1", "kg m s^{-2}");
    check("1", "J", "1", "N·m");
    check("1", "atm", "760", "torr");
    check("1", "ha", "10000", "m²");
    check("60", "mph", "88", "ft/s");
    check("1", "µm", "1000", "nm");
    check("1", "mol/L", "1", "mmol/mL");
    check("3", "dollars per pound", "300", "cents/lb");
    check("64516", "psi", "44482216152605/100000", "Pa");
}

#[test]
fn temperatures_have_their_own_zero() {
    check("0", "°C", "27315/100", "K");
    check("100", "°C", "212", "°F");
    check("-40", "degrees Fahrenheit", "-40", "degrees Celsius");
    check("20", "C", "68", "°F");
    check("9", "J/°F", "81/5", "J/K");
    check("1", "°C/min", "9/5", "°F/min");
}

#[test]
fn spellings_of_one_unit_are_equal() {
    check_same("km ; kilometers ; kilometre ; Kilometer ; KM");
    check_same("m/s ; meters per second ; m s^{-1} ; m·s⁻¹ ; m s^-1 ; m/sec ; metres a second");
    check_same("m^2 ; m² ; square meters ; sq m ; meters squared ; m2 ; m**2 ; m^{2} ; sq. m");
    check_same("cm^3 ; cc ; cubic centimeters ; cm³ ; mL");
    check_same("J/(kg K) ; J/kg/K ; J kg^-1 K^-1 ; J/(kg·K)");
    check_same("° ; degrees ; deg ; degree");
    check_same("°C ; ° C ; degrees Celsius ; ℃ ; ^° C ; ^{°}C ; celsius");
    check_same("$ ; dollars ; USD ; $ dollars ; US$ ; bucks ; dollar");
    check_same("$/hour ; dollars per hour ; dollars an hour ; $ per h ; $ per hour");
    check_same("£ ; pounds ; GBP ; pounds sterling");
    check_same("lb ; pounds ; lbs ; lbs.");
    check_same("years ; years old ; yr ; year");
    check_same("cities ; city ; City");
    check_same("boxes ; box");
    check_same("children ; child");
    check_same("people ; person ; persons");
    check_same("red marbles ; marbles ; red marble");
    check_same("slices of pizza ; slices ; slice");
    check_same("dollars each ; dollars ; $ each");
    check_same("kilowatt-hours ; kWh ; kW h");
    check_same("eggs per day ; eggs/day ; egg a day");
    check_same("percentage points ; percentage point");
    check_same("person-hours ; person hours");
    check_same("米 ; m");
    check_same("left ; left");
}

#[test]
fn different_quantities_do_not_convert() {
    use Conversion::{OtherDimension, OtherThing};
    for (from, to) in [
        ("m^2", "m"),
        ("m", "s"),
        ("degrees", "radians"),
        ("$", "€"),
        ("°C", "degrees"),
        ("years", "days"),
        ("eggs per day", "eggs"),
        ("$", "eggs"),
        ("pounds", "€"),
        ("J/K", "J"),
    ] {
        check_other(from, to, &OtherDimension);
    }
    for (from, to) in [
        ("eggs", "hens"),
        ("red marbles", "blue marbles"),
        ("cups of flour", "cups of sugar"),
        ("percentage points", "points earned"),
        ("dollars per egg", "dollars"),
    ] {
        check_other(from, to, &OtherThing);
    }
}

#[test]
fn other_texts_are_no_unit() {
    check_no_unit("x ; xy ; ab ; pi ; e ; i ; C ; F ; u ; M ; ABCD ; mx");
    check_no_unit(
        "halves ; hundredths ; squared ; factorial ; times x ; more than x ; more apples",
    );
    check_no_unit("square ; / ; eggs * ; m/ ; per ; and pears ; apples and pears ; is wrong ; no");
    check_no_unit("sin ; arcsin ; theta ; lambda ; infinity ; pm ; PM ; AM ; July ; mod ; eggs 5");
    check_no_unit("m^ ; m^x ; m^{2 ; m^100 ; m^0 ; square m^2 ; (m ; m) ; m//s ; per per day ; /s");
    check_no_unit(
        "5 ; % ; 😀 ; m + s ; m, s ; $$ ; m = s ; ; percent ; dozen eggs ; of eggs ; the",
    );
    check_no_unit("公里和 ; 万 ; 个半");
}

#[test]
fn marks_make_words_of_letters() {
    for text in ["C", "F", "u", "N", "xyz", "kN m", "V/m", "T", "pH"] {
        assert!(parse_marked_unit(text).is_some(), "{text:?}");
    }
    for text in ["m", "s", "g", "h", "L", "kg m/s^2", "km/h", "egg", "cat", "mL", "gold coins"] {
        assert!(parse_unit(text).is_some(), "{text:?}");
    }
    for text in ["x", "pm", "sin", "and", "π", "∞"] {
        assert_eq!(parse_marked_unit(text), None, "{text:?}");
    }
}

#[test]
fn degrees_are_recognised() {
    assert!(read_measure("arcmin").is_degrees() && !read_measure("rad").is_degrees());
}

#[test]
fn constants_have_units() {
    let light = constant_named("c").expect("it is in the table");
    assert_eq!(light.value, RBig::from(299_792_458u32));
    assert_eq!(light.measure.conversion(&read_measure("m/s")), Conversion::Same);
    for name in [
        "h",
        "hbar",
        "e_charge",
        "k_B",
        "N_A",
        "R",
        "F",
        "G",
        "g0",
        "atm",
        "m_e",
        "m_p",
        "m_n",
        "m_u",
        "epsilon_0",
        "mu_0",
        "sigma",
        "a_0",
        "R_inf",
    ] {
        let known = constant_named(name).unwrap_or_else(|| panic!("{name}"));
        assert!(known.value > RBig::ZERO, "{name}");
    }
    let product = |a: &str, b: &str| {
        let value = |name| constant_named(name).map(|known| known.value);
        Some(value(a)? * value(b)?)
    };
    assert_eq!(product("N_A", "k_B"), constant_named("R").map(|r| r.value));
    assert_eq!(product("N_A", "e_charge"), constant_named("F").map(|f| f.value));
    assert_eq!(constant_named("gamma"), None);
}

proptest! {
    #[test]
    fn any_text_ends_without_panic(text in "[ a-zA-Z0-9/^{}()*.·²°$-]{0,24}") {
        if let Some(unit) = parse_marked_unit(&text) {
            prop_assert_eq!(unit.conversion(&unit), Conversion::Same);
        }
    }

    #[test]
    fn conversions_go_back(
        from in "(k|c|m)?(m|g|s|L|N|J|W)(/(h|min|s|kg|eggs))?",
        to in "(k|c|m)?(m|g|s|L|N|J|W)(/(h|min|s|kg|eggs))?",
    ) {
        let (from, to) = (read_measure(&from), read_measure(&to));
        let there = from.conversion(&to);
        let back = to.conversion(&from);
        match (there, back) {
            (Conversion::Linear { factor, .. }, Conversion::Linear { factor: back, .. }) => {
                prop_assert_eq!(factor * back, RBig::ONE);
            }
            (there, back) => prop_assert_eq!(there, back),
        }
    }
}
