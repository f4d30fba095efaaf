//! Cases from the field on whole tables: what went wrong elsewhere, and what is right.

mod lost_answers;
mod rivals;
mod verdicts;
