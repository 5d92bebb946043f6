use half::{bf16, f16};

use super::{F32x16, Isa, Kernel, LANES, plain_dot};

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

/// Dot products of pairs, given as their bits.
#[derive(Clone, Copy)]
struct DotPairs {
    x: [[u16; 2]; LANES],
    w: [[u16; 2]; LANES],
    sum: [f32; LANES],
}

impl Kernel for DotPairs {
    type Output = [f32; LANES];
    const DOTS_PAIRS: bool = true;

    #[inline(always)]
    fn run<L: F32x16>(self) -> [f32; LANES] {
        let (mut x, mut w) = ([0.0; LANES], [0.0; LANES]);
        for i in 0..LANES {
            let lane = |[a, b]: [u16; 2]| f32::from_bits(u32::from(a) | u32::from(b) << 16);
            (x[i], w[i]) = (lane(self.x[i]), lane(self.w[i]));
        }
        L::load(&x).dot_pairs(L::load(&w), L::load(&self.sum)).to_array()
    }
}

/// Every instruction set gives the reference's bits.
fn check_dots(dots: DotPairs) {
    let want: [f32; LANES] = std::array::from_fn(|i| plain_dot(dots.x[i], dots.w[i], dots.sum[i]));
    for isa in Isa::available() {
        let got = isa.run(dots);
        for i in 0..LANES {
            let (x, w, sum) = (dots.x[i], dots.w[i], dots.sum[i].to_bits());
            let [got, want] = [got[i], want[i]];
            assert_eq!(
                bits(&[got]),
                bits(&[want]),
                "{}: {x:04x?} · {w:04x?} + {sum:08x}: {got:e} for {want:e}",
                isa.name()
            );
        }
    }
}

/// Exponents around which results are ordinary, cancel, overflow, or are too small.
const EXPONENTS: [[u32; 2]; 6] = [[127, 8], [127, 2], [127, 40], [250, 5], [3, 3], [64, 64]];

fn random_dots(exponents: [u32; 2], seed: u32) -> DotPairs {
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let [middle, spread] = exponents;
    // The product's exponent is about that of the sum.
    let factor = u32::midpoint(middle, 127);
    let mut number = |middle: u32| {
        let exponent = (middle + next() % (2 * spread)).saturating_sub(spread).min(255);
        (next() & 0x807f_ffff) | exponent << 23
    };
    let mut dots = DotPairs { x: [[0; 2]; LANES], w: [[0; 2]; LANES], sum: [0.0; LANES] };
    for i in 0..LANES {
        for at in 0..2 {
            dots.x[i][at] = (number(factor) >> 16) as u16;
            dots.w[i][at] = (number(factor) >> 16) as u16;
        }
        dots.sum[i] = f32::from_bits(number(middle));
    }
    dots
}

#[test]
fn dots_of_random_pairs_have_the_bits_of_the_reference() {
    for exponents in EXPONENTS {
        for seed in 1..200 {
            check_dots(random_dots(exponents, seed));
        }
    }
}

#[test]
fn dots_of_special_pairs_have_the_bits_of_the_reference() {
    let halves = [
        0, 0x8000, 0x7f80, 0xff80, 0x7fc0, 1, 0x8001, 0x7f, 0x3f80, 0xbf80, 0x80, 0x8080, 0x7f7f,
        0xff7f, 0x1f80, 0x9f80, 0x3f81,
    ];
    let sums = [0.0, -0.0, 1e-42, -1e-42, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, 1.0, f32::MAX];
    let others = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN];
    for (a, x) in halves.into_iter().enumerate() {
        for (b, w) in halves.into_iter().enumerate() {
            let other = |at: usize| halves[at % halves.len()];
            let mut dots = DotPairs { x: [[0; 2]; LANES], w: [[0; 2]; LANES], sum: [0.0; LANES] };
            for (i, sum) in sums.into_iter().chain(others).enumerate() {
                dots.x[i] = [x, other(a + b + i)];
                dots.w[i] = [w, other(a * 5 + i)];
                dots.sum[i] = sum;
            }
            check_dots(dots);
        }
    }
}

/// Values that the instruction gave: the order of a pair, the least normal number by rounding, no
/// rounding of the product, subnormal operands and results.
#[test]
fn dots_have_the_bits_of_the_instruction() {
    for (sum, x, w, want) in [
        (0xc117_4c77, [0xc05d, 0x3eb9], [0xc139, 0x3de6], 0x41f4_16e0),
        (0x4261_3b1d, [0, 0], [0, 0], 0x4261_3b1d),
        (0x0080_0000, [0, 0x1708], [0, 0x9c32], 0x0080_0000),
        (0x8080_0001, [0, 0x14e0], [0, 0x1fa2], 0x8080_0000),
        (0x80a2_3629, [0x8fc6, 0x9eae], [0x9ce0, 0x9835], 0x80a2_360a),
        (0x006c_ad4a, [0x211f, 0x1e0f], [0x90b8, 0x1ca2], 0x8000_0000),
        (0x7d9a_26f8, [0x6032, 0xde7b], [0x6058, 0x619e], 0xff80_0000),
        (0x8000_0001, [0x8000, 0x8000], [0x3f80, 0x3f80], 0x8000_0000),
        (0x3f80_0000, [0x0001, 0x3f80], [0x7f7f, 0x3f80], 0x4000_0000),
    ] {
        let sum = f32::from_bits(sum);
        assert_eq!(plain_dot(x, w, sum).to_bits(), want, "{x:04x?} · {w:04x?} + {sum:e}");
        check_dots(DotPairs { x: [x; LANES], w: [w; LANES], sum: [sum; LANES] });
    }
}
