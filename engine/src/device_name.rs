//! Names of devices in configurations.

use std::fmt;
use std::str::FromStr;

/// A device by its configured name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceName {
    /// The device of [`DeviceName::auto`].
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// A CUDA card by its number, from 0.
    Cuda(usize),
}

impl DeviceName {
    /// What [`DeviceName::Auto`] is, and why, for people.
    pub fn auto() -> (DeviceName, &'static str) {
        let reason = "no kernel of this version has passed its checks on a card; \
                      a card is used where its name is given";
        (DeviceName::Cpu, reason)
    }
}

impl FromStr for DeviceName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<DeviceName, &'static str> {
        match text {
            "auto" => Ok(DeviceName::Auto),
            "cpu" => Ok(DeviceName::Cpu),
            _ => {
                let number =
                    text.strip_prefix("cuda:").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
                let index = number.and_then(|n| n.parse().ok());
                index.map(DeviceName::Cuda).ok_or("\"auto\", \"cpu\" or a card such as \"cuda:0\"")
            }
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Auto => f.write_str("auto"),
            DeviceName::Cpu => f.write_str("cpu"),
            DeviceName::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceName;

    #[test]
    fn names_are_read_and_written() {
        let check = |text: &str, expected: Option<DeviceName>| {
            assert_eq!(text.parse().ok(), expected, "{text}");
            assert!(expected.is_none_or(|name| name.to_string() == text), "{text}");
        };
        check("auto", Some(DeviceName::Auto));
        check("cpu", Some(DeviceName::Cpu));
        check("cuda:0", Some(DeviceName::Cuda(0)));
        check("cuda:17", Some(DeviceName::Cuda(17)));
        for wrong in
            ["", "cuda", "cuda:", "cuda:-1", "cuda:+1", "cuda: 1", "gpu", "CPU", "cuda:all"]
        {
            check(wrong, None);
        }
    }
}
