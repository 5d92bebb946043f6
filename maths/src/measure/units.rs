//! The units that convert, by their symbols and names.
//!
//! Symbols are looked up as written. Names are lower case and singular. A prefix may stand before
//! those that take one.

use dashu::integer::UBig;
use dashu::rational::RBig;

use super::{Dimension, ratio};

/// A unit of the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    /// Its symbol, without a prefix.
    pub(super) name: &'static str,
    /// `(numerator, denominator, power of ten)` of one of it in base units.
    factor: (u64, u64, i8),
    /// A power of two on top, for binary prefixes.
    two: u8,
    pub(super) dimension: Dimension,
    prefixes: Prefixes,
}

/// Prefixes that a unit takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefixes {
    None,
    All,
    /// From kilo up, as for tonnes.
    Large,
    /// From kilo up and from kibi up.
    Binary,
}

impl Unit {
    fn times(self, factor: u64) -> Self {
        Self { factor: (factor, 1, 0), ..self }
    }

    pub(super) fn scale(&self) -> RBig {
        let (numerator, denominator, ten) = self.factor;
        let scale = ratio(numerator, denominator, ten);
        if self.two == 0 {
            return scale;
        }
        scale * RBig::from(UBig::from(1u8) << usize::from(self.two))
    }

    /// Returns where the scale of a temperature starts, in kelvins.
    pub(super) fn offset(&self) -> RBig {
        match self.name {
            "°C" => ratio(27_315, 1, -2),
            "°F" => ratio(45_967, 180, 0),
            _ => RBig::ZERO,
        }
    }
}

const NOTHING: Dimension = Dimension {
    length: 0,
    mass: 0,
    time: 0,
    months: 0,
    current: 0,
    temperature: 0,
    amount: 0,
    luminosity: 0,
    degrees: 0,
    radians: 0,
    information: 0,
    currency: None,
};

/// Exponents of metre, kilogram, second and ampere.
const fn mksa(length: i8, mass: i8, time: i8, current: i8) -> Dimension {
    Dimension { length, mass, time, current, ..NOTHING }
}

pub(super) const LENGTH: Dimension = mksa(1, 0, 0, 0);
const AREA: Dimension = mksa(2, 0, 0, 0);
const VOLUME: Dimension = mksa(3, 0, 0, 0);
pub(super) const MASS: Dimension = mksa(0, 1, 0, 0);
pub(super) const TIME: Dimension = mksa(0, 0, 1, 0);
const SPEED: Dimension = mksa(1, 0, -1, 0);
const FREQUENCY: Dimension = mksa(0, 0, -1, 0);
const PRESSURE: Dimension = mksa(-1, 1, -2, 0);
const ENERGY: Dimension = mksa(2, 1, -2, 0);
pub(super) const MONTHS: Dimension = Dimension { months: 1, ..NOTHING };
const TEMPERATURE: Dimension = Dimension { temperature: 1, ..NOTHING };
const AMOUNT: Dimension = Dimension { amount: 1, ..NOTHING };
const LUMINOSITY: Dimension = Dimension { luminosity: 1, ..NOTHING };
pub(super) const DEGREES: Dimension = Dimension { degrees: 1, ..NOTHING };
pub(super) const RADIANS: Dimension = Dimension { radians: 1, ..NOTHING };
const INFORMATION: Dimension = Dimension { information: 1, ..NOTHING };

const fn with_prefixes(
    name: &'static str,
    ten: i8,
    dimension: Dimension,
    prefixes: Prefixes,
) -> Unit {
    Unit { name, factor: (1, 1, ten), two: 0, dimension, prefixes }
}

/// Returns a unit that takes the prefixes of the SI; `10^ten` base units.
const fn si(name: &'static str, ten: i8, dimension: Dimension) -> Unit {
    with_prefixes(name, ten, dimension, Prefixes::All)
}

/// Returns a unit without prefixes, of `numerator · 10^ten` base units.
const fn plain(name: &'static str, numerator: u64, ten: i8, dimension: Dimension) -> Unit {
    Unit { name, factor: (numerator, 1, ten), two: 0, dimension, prefixes: Prefixes::None }
}

/// Returns the main unit of a currency.
const fn money(name: &'static str, hundredths: u64) -> Unit {
    let dimension = Dimension { currency: Some((name, 1)), ..NOTHING };
    plain(name, hundredths, -2, dimension)
}

/// Units as other languages write them, lower case, with their symbols.
const FOREIGN: &[(&str, &str)] = &[
    ("м", "m"),
    ("см", "cm"),
    ("мм", "mm"),
    ("км", "km"),
    ("дм", "dm"),
    ("г", "g"),
    ("кг", "kg"),
    ("мг", "mg"),
    ("т", "t"),
    ("с", "s"),
    ("сек", "s"),
    ("секунд", "s"),
    ("секунды", "s"),
    ("мин", "min"),
    ("минут", "min"),
    ("минуты", "min"),
    ("ч", "h"),
    ("час", "h"),
    ("часа", "h"),
    ("часов", "h"),
    ("дней", "d"),
    ("дня", "d"),
    ("день", "d"),
    ("л", "L"),
    ("мл", "mL"),
    ("моль", "mol"),
    ("Н", "N"),
    ("Дж", "J"),
    ("кДж", "kJ"),
    ("Вт", "W"),
    ("кВт", "kW"),
    ("В", "V"),
    ("А", "A"),
    ("Ом", "Ω"),
    ("Па", "Pa"),
    ("кПа", "kPa"),
    ("Гц", "Hz"),
    ("Кл", "C"),
    ("К", "K"),
    ("руб", "RUB"),
    ("рублей", "RUB"),
    ("рубля", "RUB"),
    ("stunde", "h"),
    ("stunden", "h"),
    ("minuten", "min"),
    ("sekunde", "s"),
    ("sekunden", "s"),
    ("tag", "d"),
    ("tage", "d"),
    ("heure", "h"),
    ("seconde", "s"),
    ("jour", "d"),
    ("hora", "h"),
    ("horas", "h"),
    ("ore", "h"),
    ("minutos", "min"),
    ("minuti", "min"),
    ("segundos", "s"),
    ("secondi", "s"),
    ("heures", "h"),
    ("jours", "d"),
    ("días", "d"),
    ("godzin", "h"),
    ("godziny", "h"),
    ("час", "h"),
    ("часа", "h"),
    ("часов", "h"),
    ("минут", "min"),
    ("минуты", "min"),
    ("quadratzentimeter", "cm^2"),
    ("minuto", "min"),
    ("segundo", "s"),
    ("día", "d"),
    ("dia", "d"),
    ("litro", "L"),
    ("metro", "m"),
    ("mètre", "m"),
    ("सेमी", "cm"),
    ("मीटर", "m"),
    ("किमी", "km"),
    ("किग्रा", "kg"),
    ("ग्राम", "g"),
    ("लीटर", "L"),
    ("घंटे", "h"),
    ("मिनट", "min"),
    ("रुपये", "INR"),
    ("متر", "m"),
    ("سم", "cm"),
    ("كم", "km"),
    ("كجم", "kg"),
    ("ساعة", "h"),
    ("分", "min"),
    ("时", "h"),
    ("원", "KRW"),
    ("円", "JPY"),
    ("zentimeter", "cm"),
    ("ساعات", "h"),
    ("دقيقة", "min"),
    ("دقائق", "min"),
    ("ثانية", "s"),
    ("ثوان", "s"),
    ("أيام", "d"),
    ("يوم", "d"),
    ("أمتار", "m"),
    ("метр", "m"),
    ("метра", "m"),
    ("метров", "m"),
    ("километр", "km"),
    ("километра", "km"),
    ("километров", "km"),
    ("сантиметров", "cm"),
    ("сантиметра", "cm"),
    ("граммов", "g"),
    ("килограмм", "kg"),
    ("килограмма", "kg"),
    ("килограммов", "kg"),
    ("metri", "m"),
    ("chilometri", "km"),
    ("chilometro", "km"),
    ("centimetri", "cm"),
    ("quilômetros", "km"),
    ("quilômetro", "km"),
    ("kilómetros", "km"),
    ("kilómetro", "km"),
    ("kilometros", "km"),
    ("centímetros", "cm"),
    ("centímetro", "cm"),
    ("giorni", "d"),
    ("tagen", "d"),
    ("분", "min"),
    ("시간", "h"),
    ("초", "s"),
    ("미터", "m"),
    ("時間", "h"),
    ("メートル", "m"),
    ("キロメートル", "km"),
    ("センチメートル", "cm"),
    ("दिन", "d"),
];

/// Returns the unit with this symbol or lower-case singular name, without a prefix.
pub(super) fn symbol(word: &str) -> Option<Unit> {
    own_symbol(word).or_else(|| {
        let (_, own) = FOREIGN.iter().find(|(foreign, _)| *foreign == word)?;
        own_symbol(own).or_else(|| prefixed(own).map(|(unit, _)| unit))
    })
}

fn own_symbol(word: &str) -> Option<Unit> {
    metric(word)
        .or_else(|| derived(word))
        .or_else(|| customary(word))
        .or_else(|| time(word))
        .or_else(|| currency(word))
        .or_else(|| other(word))
}

fn metric(word: &str) -> Option<Unit> {
    Some(match word {
        "m" | "meter" | "metre" | "米" => si("m", 0, LENGTH),
        "g" | "gram" | "gramme" | "克" => si("g", -3, MASS),
        "s" | "sec" | "second" | "秒" => si("s", 0, TIME),
        "A" | "amp" | "ampere" => si("A", 0, mksa(0, 0, 0, 1)),
        "K" | "kelvin" => si("K", 0, TEMPERATURE),
        "mol" | "mole" => si("mol", 0, AMOUNT),
        "cd" | "candela" => si("cd", 0, LUMINOSITY),
        "L" | "l" | "ℓ" | "liter" | "litre" | "升" => si("L", -3, VOLUME),
        "cc" | "立方厘米" => plain("cm^3", 1, -6, VOLUME),
        "ha" | "hectare" | "公顷" => plain("ha", 1, 4, AREA),
        "t" | "tonne" | "吨" => with_prefixes("t", 3, MASS, Prefixes::Large),
        "micron" => plain("µm", 1, -6, LENGTH),
        "Å" | "angstrom" => plain("Å", 1, -10, LENGTH),
        "kg" | "Kg" | "KG" | "kilo" | "公斤" | "千克" => plain("kg", 1, 0, MASS),
        "km" | "Km" | "KM" | "公里" | "千米" => plain("km", 1, 3, LENGTH),
        "cm" | "CM" | "厘米" => plain("cm", 1, -2, LENGTH),
        "mm" | "毫米" => plain("mm", 1, -3, LENGTH),
        "分米" => plain("dm", 1, -1, LENGTH),
        "毫升" => plain("mL", 1, -6, VOLUME),
        "平方米" => plain("m^2", 1, 0, AREA),
        "平方厘米" => plain("cm^2", 1, -4, AREA),
        "立方米" => plain("m^3", 1, 0, VOLUME),
        _ => return None,
    })
}

fn derived(word: &str) -> Option<Unit> {
    Some(match word {
        "Hz" | "hertz" => si("Hz", 0, FREQUENCY),
        "N" | "newton" => si("N", 0, mksa(1, 1, -2, 0)),
        "Pa" | "pascal" => si("Pa", 0, PRESSURE),
        "J" | "joule" => si("J", 0, ENERGY),
        "W" | "watt" => si("W", 0, mksa(2, 1, -3, 0)),
        "C" | "coulomb" => si("C", 0, mksa(0, 0, 1, 1)),
        "V" | "volt" => si("V", 0, mksa(2, 1, -3, -1)),
        "F" | "farad" => si("F", 0, mksa(-2, -1, 4, 2)),
        "Ω" | "\u{2126}" | "ohm" => si("Ω", 0, mksa(2, 1, -3, -2)),
        "S" | "siemens" => si("S", 0, mksa(-2, -1, 3, 2)),
        "Wb" | "weber" => si("Wb", 0, mksa(2, 1, -2, -1)),
        "T" | "tesla" => si("T", 0, mksa(0, 1, -2, -1)),
        "H" | "henry" => si("H", 0, mksa(2, 1, -2, -2)),
        "lm" | "lumen" => si("lm", 0, LUMINOSITY),
        "lx" | "lux" => si("lx", 0, Dimension { length: -2, ..LUMINOSITY }),
        "Bq" | "becquerel" => si("Bq", 0, FREQUENCY),
        "Gy" | "gray" => si("Gy", 0, mksa(2, 0, -2, 0)),
        "Sv" | "sievert" => si("Sv", 0, mksa(2, 0, -2, 0)),
        "eV" | "electronvolt" => Unit { factor: (1_602_176_634, 1, -28), ..si("eV", 0, ENERGY) },
        "cal" | "calorie" => Unit { factor: (4_184, 1, -3), ..si("cal", 0, ENERGY) },
        "Wh" => Unit { factor: (3_600, 1, 0), ..si("Wh", 0, ENERGY) },
        "Ah" => Unit { factor: (3_600, 1, 0), ..si("Ah", 0, mksa(0, 0, 1, 1)) },
        "atm" | "atmosphere" => plain("atm", 101_325, 0, PRESSURE),
        "torr" | "mmHg" => Unit { factor: (101_325, 760, 0), ..plain("torr", 1, 0, PRESSURE) },
        "M" | "molar" => {
            Unit { prefixes: Prefixes::All, ..plain("M", 1, 3, Dimension { length: -3, ..AMOUNT }) }
        }
        _ => return None,
    })
}

fn customary(word: &str) -> Option<Unit> {
    Some(match word {
        "in" | "inch" | "inche" => plain("in", 254, -4, LENGTH),
        "ft" | "foot" | "feet" => plain("ft", 3_048, -4, LENGTH),
        "yd" | "yard" => plain("yd", 9_144, -4, LENGTH),
        "mi" | "mile" => plain("mi", 1_609_344, -3, LENGTH),
        "nmi" => plain("nmi", 1_852, 0, LENGTH),
        "ly" => plain("ly", 9_460_730_472_580_800, 0, LENGTH),
        "pc" | "parsec" => si("pc", 0, LENGTH).times(30_856_775_814_913_673),
        "AU" | "au" => plain("au", 149_597_870_700, 0, LENGTH),
        "acre" => plain("acre", 40_468_564_224, -7, AREA),
        "sqft" => plain("ft^2", 9_290_304, -8, AREA),
        "gal" | "gallon" => plain("gal", 3_785_411_784, -12, VOLUME),
        "qt" | "quart" => plain("qt", 946_352_946, -12, VOLUME),
        "pt" | "pint" => plain("pt", 473_176_473, -12, VOLUME),
        "cup" => plain("cup", 2_365_882_365, -13, VOLUME),
        "floz" => plain("fl oz", 295_735_295_625, -16, VOLUME),
        "tbsp" | "tablespoon" => plain("tbsp", 1_478_676_478_125, -17, VOLUME),
        "tsp" | "teaspoon" => plain("tsp", 492_892_159_375, -17, VOLUME),
        "lb" | "lbs" => plain("lb", 45_359_237, -8, MASS),
        "pound" => plain("pound", 45_359_237, -8, MASS),
        "oz" | "ounce" => plain("oz", 28_349_523_125, -12, MASS),
        "ton" => plain("ton", 90_718_474, -5, MASS),
        "mph" => plain("mi/h", 44_704, -5, SPEED),
        "kph" | "kmh" | "kmph" => Unit { factor: (5, 18, 0), ..plain("km/h", 1, 0, SPEED) },
        "mps" => plain("m/s", 1, 0, SPEED),
        "fps" => plain("ft/s", 3_048, -4, SPEED),
        "knot" => Unit { factor: (463, 900, 0), ..plain("knot", 1, 0, SPEED) },
        "psi" => Unit {
            // A pound-force of 0.45359237 · 9.80665 N on a square inch of 0.00064516 m².
            factor: (44_482_216_152_605, 64_516, -5),
            ..plain("psi", 1, 0, PRESSURE)
        },
        _ => return None,
    })
}

fn time(word: &str) -> Option<Unit> {
    Some(match word {
        "min" | "minute" | "分钟" => plain("min", 60, 0, TIME),
        "h" | "hr" | "hour" | "小时" => plain("h", 3_600, 0, TIME),
        "d" | "day" | "天" => plain("d", 86_400, 0, TIME),
        "wk" | "week" => plain("wk", 604_800, 0, TIME),
        "fortnight" => plain("fortnight", 1_209_600, 0, TIME),
        "mo" | "month" => plain("month", 1, 0, MONTHS),
        "yr" | "year" | "年" => plain("yr", 12, 0, MONTHS),
        "decade" => plain("decade", 120, 0, MONTHS),
        "century" => plain("century", 1_200, 0, MONTHS),
        "millennium" | "millennia" => plain("millennium", 12_000, 0, MONTHS),
        _ => return None,
    })
}

fn currency(word: &str) -> Option<Unit> {
    Some(match word {
        "$" | "US$" | "USD" | "usd" | "dollar" | "buck" => money("USD", 100),
        "¢" | "cent" => Unit { name: "cent", ..money("USD", 1) },
        "€" | "EUR" | "eur" | "euro" | "Euro" => money("EUR", 100),
        "£" | "GBP" | "gbp" => money("GBP", 100),
        "pence" => Unit { name: "pence", ..money("GBP", 1) },
        "¥" | "JPY" | "jpy" | "yen" => money("JPY", 100),
        "₹" | "INR" | "inr" | "rupee" | "Rs" => money("INR", 100),
        "CNY" | "cny" | "RMB" | "rmb" | "yuan" | "元" => money("CNY", 100),
        "₩" | "KRW" | "won" => money("KRW", 100),
        "₽" | "RUB" | "ruble" | "rouble" => money("RUB", 100),
        "CHF" | "chf" => money("CHF", 100),
        "AUD" => money("AUD", 100),
        "CAD" => money("CAD", 100),
        "peso" => money("peso", 100),
        "ringgit" | "MYR" => money("MYR", 100),
        "zł" | "zl" | "PLN" | "złoty" | "złotych" => money("PLN", 100),
        "Kč" | "CZK" => money("CZK", 100),
        "kr" | "kronor" | "kroner" => money("kr", 100),
        "R$" | "BRL" | "reais" => money("BRL", 100),
        "₺" | "TRY" => money("TRY", 100),
        "₫" | "VND" => money("VND", 100),
        _ => return None,
    })
}

fn other(word: &str) -> Option<Unit> {
    Some(match word {
        "°" | "deg" | "degree" | "度" => plain("°", 1, 0, DEGREES),
        "arcmin" | "arcminute" => Unit { factor: (1, 60, 0), ..plain("arcmin", 1, 0, DEGREES) },
        "arcsec" | "arcsecond" => Unit { factor: (1, 3_600, 0), ..plain("arcsec", 1, 0, DEGREES) },
        "rad" | "radian" => si("rad", 0, RADIANS),
        "°C" | "℃" | "celsius" | "centigrade" => plain("°C", 1, 0, TEMPERATURE),
        "°F" | "℉" | "fahrenheit" => {
            Unit { factor: (5, 9, 0), ..plain("°F", 1, 0, TEMPERATURE) }
        }
        "b" | "bit" => with_prefixes("bit", 0, INFORMATION, Prefixes::Binary),
        "B" | "byte" => {
            Unit { factor: (8, 1, 0), ..with_prefixes("B", 0, INFORMATION, Prefixes::Binary) }
        }
        "bps" => {
            let rate = Dimension { time: -1, ..INFORMATION };
            with_prefixes("bit/s", 0, rate, Prefixes::Binary)
        }
        _ => return None,
    })
}

/// `(symbol, name, power of ten)`. `da` comes before `d`, so that it is found first.
const PREFIXES: [(&str, &str, i8); 22] = [
    ("da", "deca", 1),
    ("Y", "yotta", 24),
    ("Z", "zetta", 21),
    ("E", "exa", 18),
    ("P", "peta", 15),
    ("T", "tera", 12),
    ("G", "giga", 9),
    ("M", "mega", 6),
    ("k", "kilo", 3),
    ("h", "hecto", 2),
    ("d", "deci", -1),
    ("c", "centi", -2),
    ("m", "milli", -3),
    ("µ", "micro", -6),
    ("μ", "micro", -6),
    ("u", "micro", -6),
    ("n", "nano", -9),
    ("p", "pico", -12),
    ("f", "femto", -15),
    ("a", "atto", -18),
    ("z", "zepto", -21),
    ("y", "yocto", -24),
];

/// `(symbol, name, power of two)`.
const BINARY_PREFIXES: [(&str, &str, u8); 4] =
    [("Ki", "kibi", 10), ("Mi", "mebi", 20), ("Gi", "gibi", 30), ("Ti", "tebi", 40)];

/// Returns the unit that a prefix and a symbol, or the name of a prefix and the name of a unit,
/// make up, and how to write it.
pub(super) fn prefixed(word: &str) -> Option<(Unit, String)> {
    let decimal = PREFIXES.iter().find_map(|(symbol, name, ten)| {
        let unit = behind(word, symbol, name)?;
        let takes = match unit.prefixes {
            Prefixes::None => false,
            Prefixes::All => true,
            Prefixes::Large | Prefixes::Binary => *ten >= 3,
        };
        let (numerator, denominator, power) = unit.factor;
        let factor = (numerator, denominator, power + ten);
        takes.then(|| (Unit { factor, ..unit }, prefixed_unit(symbol, unit.name)))
    });
    decimal.or_else(|| binary(word))
}

/// Parses a unit of information with a binary prefix; a capital `K` is a thousand.
fn binary(word: &str) -> Option<(Unit, String)> {
    let takes = |unit: &Unit| unit.prefixes == Prefixes::Binary;
    if let Some(unit) = word.strip_prefix('K').and_then(symbol).filter(takes) {
        let (numerator, denominator, ten) = unit.factor;
        let factor = (numerator, denominator, ten + 3);
        return Some((Unit { factor, ..unit }, prefixed_unit("k", unit.name)));
    }
    BINARY_PREFIXES.iter().find_map(|(symbol, name, two)| {
        let unit = behind(word, symbol, name).filter(takes)?;
        Some((Unit { two: *two, ..unit }, prefixed_unit(symbol, unit.name)))
    })
}

/// Writes a prefixed unit with the first spelling of micro in the table.
fn prefixed_unit(prefix: &str, unit: &str) -> String {
    let prefix = match prefix {
        "μ" | "u" => "µ",
        other => other,
    };
    format!("{prefix}{unit}")
}

/// The longest symbol of a unit that takes prefixes, in bytes; names are not shorter.
const SYMBOL_BYTES: usize = 3;

/// Returns the unit behind the symbol or the name of a prefix.
fn behind(word: &str, prefix: &str, prefix_name: &str) -> Option<Unit> {
    let by_name =
        word.strip_prefix(prefix_name).filter(|rest| rest.len() >= SYMBOL_BYTES).and_then(symbol);
    by_name.or_else(|| {
        let rest = word.strip_prefix(prefix)?;
        (rest.len() <= SYMBOL_BYTES).then(|| symbol(rest))?
    })
}
