//! Constants of physics by name, as data: CODATA 2022 and the exact values of the SI.
//!
//! Nothing here acts by itself: a text says `c` and means a letter until a caller asks for the
//! constant of that name.

use dashu::integer::UBig;
use dashu::rational::RBig;

use super::Measure;
use crate::number::power_of_ten;

/// A constant with its unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// In `measure`, which is a product of SI units.
    pub(crate) value: RBig,
    pub(crate) measure: Measure,
}

/// Returns the constant with this symbol or name.
pub(crate) fn constant_named(name: &str) -> Option<Known> {
    let (digits, ten, unit) = row(name)?;
    Some(Known {
        value: RBig::from(UBig::from(digits)) * power_of_ten(ten),
        measure: super::parse_marked_unit(unit).expect("the units of the table are units"),
    })
}

/// Digits, power of ten, unit.
type ConstantRow = (u128, i32, &'static str);

fn row(name: &str) -> Option<ConstantRow> {
    Some(match name {
        "c" | "speed of light" => (299_792_458, 0, "m/s"),
        "h" | "Planck constant" => (662_607_015, -42, "J s"),
        "hbar" | "reduced Planck constant" => (1_054_571_817, -43, "J s"),
        "e_charge" | "elementary charge" => (1_602_176_634, -28, "C"),
        "k_B" | "Boltzmann constant" => (1_380_649, -29, "J/K"),
        "N_A" | "Avogadro constant" => (602_214_076, 15, "mol^-1"),
        "R" | "molar gas constant" => (831_446_261_815_324, -14, "J/(mol K)"),
        "F" | "Faraday constant" => (964_853_321_233_100_184, -13, "C/mol"),
        "G" | "Newtonian constant of gravitation" => (667_430, -16, "m^3/(kg s^2)"),
        "g0" | "g_n" | "standard acceleration of gravity" => (980_665, -5, "m/s^2"),
        "atm" | "standard atmosphere" => (101_325, 0, "Pa"),
        "m_e" | "electron mass" => (91_093_837_139, -41, "kg"),
        "m_p" | "proton mass" => (167_262_192_595, -38, "kg"),
        "m_n" | "neutron mass" => (167_492_750_056, -38, "kg"),
        "m_u" | "atomic mass constant" => (166_053_906_892, -38, "kg"),
        "epsilon_0" | "vacuum electric permittivity" => (88_541_878_188, -22, "F/m"),
        "mu_0" | "vacuum magnetic permeability" => (125_663_706_127, -17, "N/A^2"),
        "sigma" | "Stefan-Boltzmann constant" => (5_670_374_419, -17, "W/(m^2 K^4)"),
        "a_0" | "Bohr radius" => (529_177_210_544, -22, "m"),
        "R_inf" | "Rydberg constant" => (10_973_731_568_157, -6, "m^-1"),
        _ => return None,
    })
}
