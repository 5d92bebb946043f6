//! Which problems come next: pass-rate bands, DUMP, SEC and PCL.
