//! A smaller cut of the proof, in every test run; the program `lakebed-proof` does the rest.
mod agreement;
mod figures;
mod mutations;
mod neutrality;
mod soundness;
