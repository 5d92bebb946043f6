use half::{bf16, f16};

use super::{F32x16, Isa, Kernel, LANES};

/// Every operation once, over one pair of vectors; the results one after the other.
struct Every<'a> {
    a: &'a [f32; LANES],
    b: &'a [f32; LANES],
}

impl Kernel for Every<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: F32x16>(self) -> Vec<f32> {
        let (a, b) = (L::load(self.a), L::load(self.b));
        let small = a.max(L::splat(-126.0)).min(L::splat(127.0)).round();
        let mut all = Vec::new();
        for vector in [
            a.add(b),
            a.sub(b),
            a.mul(b),
            a.div(b),
            a.mul_add(b, L::splat(0.1)),
            a.max(b),
            a.min(b),
            a.abs().sqrt(),
            a.round(),
            small.exp2i(),
            a.select_gt(b, L::splat(1.0), b),
            L::load_part(&self.a[..5], -1.0),
        ] {
            all.extend(vector.to_array());
        }
        let mut part = [0.0; 3];
        b.store_part(&mut part);
        all.extend(part);
        all.extend([a.sum(), b.largest()]);
        all
    }
}

/// NaNs are one value here: which of two NaNs an addition keeps is the instruction's choice.
fn bits(all: &[f32]) -> Vec<u32> {
    let bits = |x: &f32| if x.is_nan() { f32::NAN } else { *x }.to_bits();
    all.iter().map(bits).collect()
}

fn check(a: [f32; LANES], b: [f32; LANES]) {
    let by = |isa: Isa| bits(&isa.run(Every { a: &a, b: &b }));
    let all = Isa::available();
    for isa in &all {
        assert_eq!(by(*isa), by(all[0]), "{} on {a:?} and {b:?}", isa.name());
    }
}

#[test]
fn every_operation_has_the_same_bits_on_every_instruction_set() {
    let mut ramp = [0.0; LANES];
    for (i, x) in ramp.iter_mut().enumerate() {
        *x = (i as f32 - 7.5) * 1.37;
    }
    let odd = [
        0.0,
        -0.0,
        1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        1e-42,
        f32::MAX,
        0.5,
        1.5,
        2.5,
        -0.5,
        -3.5,
        1e10,
        f32::EPSILON,
    ];
    let mut turned = odd;
    turned.rotate_left(5);
    for (a, b) in [(ramp, odd), (odd, ramp), (odd, turned), (ramp, ramp), (odd, [-0.0; LANES])] {
        check(a, b);
    }
}

#[test]
fn operations_match_scalar_definitions() {
    let a = [2.5; LANES];
    let b = [-3.0; LANES];
    let all = Isa::best().run(Every { a: &a, b: &b });
    let firsts: Vec<f32> = all.chunks_exact(LANES).map(|c| c[0]).collect();
    assert_eq!(
        firsts,
        [-0.5, 5.5, -7.5, 2.5 / -3.0, -7.4, 2.5, -3.0, 2.5_f32.sqrt(), 2.0, 4.0, 1.0, 2.5]
    );
    assert_eq!(&all[11 * LANES + 4..11 * LANES + 6], &[2.5, -1.0]);
    assert_eq!(&all[12 * LANES..], &[-3.0, -3.0, -3.0, 40.0, -3.0]);
}

/// Widens sixteen halves of each kind.
struct Widen([u16; LANES]);

impl Kernel for Widen {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<L: F32x16>(self) -> Vec<f32> {
        let (mut f16s, mut bf16s) = ([f16::ZERO; LANES], [bf16::ZERO; LANES]);
        for i in 0..LANES {
            f16s[i] = f16::from_bits(self.0[i]);
            bf16s[i] = bf16::from_bits(self.0[i]);
        }
        let mut all = L::load_f16(&f16s).to_array().to_vec();
        all.extend(L::load_bf16(&bf16s).to_array());
        all
    }
}

#[test]
fn every_half_widens_to_its_own_value() {
    for start in (0..=u16::MAX).step_by(LANES) {
        let mut halves = [0; LANES];
        for (half, bits) in halves.iter_mut().zip(start..=u16::MAX) {
            *half = bits;
        }
        let mut want: Vec<f32> = halves.iter().map(|h| f16::from_bits(*h).to_f32()).collect();
        want.extend(halves.iter().map(|h| bf16::from_bits(*h).to_f32()));
        for isa in Isa::available() {
            let got = isa.run(Widen(halves));
            assert_eq!(bits(&got), bits(&want), "{} from {start:#x}", isa.name());
        }
    }
}
