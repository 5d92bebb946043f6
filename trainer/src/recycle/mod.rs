//! Judge items made of rollouts: SPARK, URPO and CRL.
