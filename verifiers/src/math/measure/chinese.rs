//! Units in Chinese, by the unit that stands for them in the tables.

/// Spellings and what they are.
const UNITS: [(&str, &str); 31] = [
    ("毫米", "mm"),
    ("厘米", "cm"),
    ("米", "m"),
    ("千米", "km"),
    ("公里", "km"),
    ("平方米", "m^2"),
    ("平方厘米", "cm^2"),
    ("平方千米", "km^2"),
    ("立方米", "m^3"),
    ("立方厘米", "cm^3"),
    ("毫升", "mL"),
    ("升", "L"),
    ("克", "g"),
    ("千克", "kg"),
    ("公斤", "kg"),
    ("吨", "tonne"),
    ("秒", "s"),
    ("分钟", "minutes"),
    ("小时", "hours"),
    ("天", "days"),
    ("周", "weeks"),
    ("个月", "months"),
    ("年", "years"),
    ("度", "degrees"),
    ("元", "CNY"),
    ("美元", "dollars"),
    ("欧元", "euros"),
    ("米/秒", "m/s"),
    ("千米/小时", "km/h"),
    ("公里/小时", "km/h"),
    ("百分点", "percentage points"),
];

/// The tables' name of a unit in Chinese.
pub(in crate::math) fn unit(text: &str) -> Option<&'static str> {
    let known = UNITS.iter().find(|(spelling, _)| *spelling == text);
    known.map(|(_, name)| *name)
}
