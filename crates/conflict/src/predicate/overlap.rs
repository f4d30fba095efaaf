//! Whether two predicates may hold for one row.

use super::domain::{Class, Domain, Limit, placed};
use super::{Finding, Selects};
use crate::eval::{Rest, Value, evaluate, prefix};
use lakebed_transaction::{BinaryOp, ColumnType, Evidence, Expr, Held, Scalar, UnaryOp};
use std::sync::Arc;

/// How many steps are taken before the answer is *possibly*.
const STEPS_MAX: usize = 20_000;
/// How many disjunctions are split one inside the other; the others count as TRUE.
const SPLITS_MAX: usize = 24;

/// The types of columns.
pub trait ColumnTypes {
    /// The type of the column of this path; `None` where it is not known.
    fn column_type(&self, path: &[Arc<str>]) -> Option<ColumnType>;
}

impl<F: Fn(&[Arc<str>]) -> Option<ColumnType>> ColumnTypes for F {
    fn column_type(&self, path: &[Arc<str>]) -> Option<ColumnType> {
        self(path)
    }
}

/// Whether two predicates may hold for one row: *never* or *possibly*.
///
/// Comparisons of a column with constants, IN, BETWEEN, LIKE by prefix, IS NULL, and AND, OR and NOT of them are understood;
/// anything else counts as TRUE where it stands. Without a column's type, texts, dates and times say nothing of it, because
/// how they compare depends on it.
///
/// ```
/// use lakebed_conflict::predicate::{Selects, overlap};
/// use lakebed_transaction::{BinaryOp, ColumnType, Expr, Scalar};
/// use std::sync::Arc;
///
/// let day = |day| Expr::column("d").binary(BinaryOp::Equal, Expr::Literal(Scalar::Date(day)));
/// let types = |_: &[Arc<str>]| Some(ColumnType::Date);
/// assert_eq!(overlap(&day(1), &day(2), &types).selects, Selects::Never);
/// assert_eq!(overlap(&day(1), &day(1), &types).selects, Selects::Possibly);
/// ```
pub fn overlap<T: ColumnTypes + ?Sized>(a: &Expr, b: &Expr, types: &T) -> Finding {
    let mut search = Search { types, steps_left: STEPS_MAX, contradiction: None };
    match search.solve(State::default(), vec![(a, true), (b, true)], Vec::new(), 0) {
        Some(state) => Finding { selects: Selects::Possibly, evidence: state.evidence() },
        None => Finding { selects: Selects::Never, evidence: search.contradiction },
    }
}

/// An expression, and whether it must be TRUE or FALSE (NULL is neither).
type Goal<'a> = (&'a Expr, bool);

struct Search<'t, T: ?Sized> {
    types: &'t T,
    steps_left: usize,
    contradiction: Option<Evidence>,
}

/// What is left to each column.
#[derive(Clone, Debug, Default)]
struct State {
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
struct Column {
    /// In lower case.
    path: Vec<String>,
    /// Whether it must be NULL, or must not.
    null: Option<bool>,
    domains: Vec<(Class, Domain)>,
}

/// What one goal comes to.
enum Step<'a> {
    /// It is taken into the state, or not understood.
    Taken,
    /// It cannot be met.
    Never,
    All(Vec<Goal<'a>>),
    Any(Vec<Goal<'a>>),
}

impl<T: ColumnTypes + ?Sized> Search<'_, T> {
    /// A state in which all goals, and one of each of the disjunctions, may be met.
    fn solve<'a>(
        &mut self,
        mut state: State,
        mut goals: Vec<Goal<'a>>,
        mut open: Vec<Vec<Goal<'a>>>,
        splits: usize,
    ) -> Option<State> {
        while let Some(goal) = goals.pop() {
            if self.steps_left == 0 {
                return Some(state);
            }
            self.steps_left -= 1;
            match self.step(goal, &mut state) {
                Step::Taken => {}
                Step::Never => return None,
                Step::All(more) => goals.extend(more),
                Step::Any(terms) => open.push(terms),
            }
        }
        if splits >= SPLITS_MAX {
            return Some(state);
        }
        let Some(terms) = open.pop() else { return Some(state) };
        terms.into_iter().find_map(|term| self.solve(state.clone(), vec![term], open.clone(), splits + 1))
    }

    fn step<'a>(&mut self, (expr, wanted): Goal<'a>, state: &mut State) -> Step<'a> {
        if expr.columns().is_empty() {
            return constant(expr, wanted);
        }
        match expr {
            Expr::Unary(UnaryOp::Not, x) => Step::All(vec![(x, !wanted)]),
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), _, _) => {
                let terms: Vec<Goal<'a>> = terms(expr, *op).into_iter().map(|term| (term, wanted)).collect();
                if (*op == BinaryOp::And) == wanted {
                    return Step::All(terms);
                }
                self.equalities(&terms, state).unwrap_or(Step::Any(terms))
            }
            Expr::Binary(op, a, b) => self.comparison(*op, a, b, wanted, state),
            Expr::Column(_) => self.compare(expr, Limits::equal(Scalar::Boolean(wanted)), state),
            Expr::IsNull { operand, negated } => self.nullness(operand, wanted != *negated, state),
            Expr::In { operand, list, negated } => self.membership(operand, list, wanted != *negated, state),
            Expr::Between { operand, low, high, negated } => {
                self.between(operand, (low, high), wanted != *negated, state)
            }
            Expr::Like { operand, pattern, escape, negated } if wanted != *negated => {
                self.like(operand, pattern, escape.unwrap_or('\\'), state)
            }
            Expr::Like { .. }
            | Expr::Literal(_)
            | Expr::Unary(UnaryOp::Negate, _)
            | Expr::Cast(_, _)
            | Expr::Case { .. }
            | Expr::Call(_, _)
            | Expr::Unknown { .. }
            | Expr::Row(_) => Step::Taken,
        }
    }

    /// A disjunction of equalities of one column is a list of candidates.
    fn equalities<'a>(&mut self, terms: &[Goal<'a>], state: &mut State) -> Option<Step<'a>> {
        let mut column: Option<&Expr> = None;
        let mut values = Vec::new();
        for (term, wanted) in terms {
            let Expr::Binary(BinaryOp::Equal | BinaryOp::NullSafeEqual, a, b) = term else { return None };
            let value = known(b).filter(|value| *wanted && !value.is_null())?;
            if !matches!(**a, Expr::Column(_)) || column.is_some_and(|column| *column != **a) {
                return None;
            }
            column = Some(a);
            values.push(value);
        }
        Some(self.compare(column?, Limits { among: Some(values), limits: Vec::new() }, state))
    }

    fn comparison<'a>(&mut self, op: BinaryOp, a: &'a Expr, b: &'a Expr, wanted: bool, state: &mut State) -> Step<'a> {
        let (column, op, value) = match (known(a), known(b)) {
            (None, Some(value)) => (a, op, value),
            (Some(value), None) => (b, mirrored(op), value),
            _ => return Step::Taken,
        };
        if op == BinaryOp::NullSafeEqual {
            return match (value.is_null(), wanted) {
                (true, _) => self.nullness(column, wanted, state),
                (false, true) => self.compare(column, Limits::equal(value), state),
                // NULL is not equal to a value here, so that nothing is said of NULL.
                (false, false) => Step::Taken,
            };
        }
        match Limits::of(op, wanted, value) {
            Some(limits) => self.compare(column, limits, state),
            None => Step::Taken,
        }
    }

    fn between<'a>(
        &mut self,
        operand: &'a Expr,
        (low, high): (&'a Expr, &'a Expr),
        inside: bool,
        state: &mut State,
    ) -> Step<'a> {
        // Outside is a disjunction whose parts are no expressions of their own.
        if !inside {
            return Step::Taken;
        }
        for (op, end) in [(BinaryOp::GreaterOrEqual, low), (BinaryOp::LessOrEqual, high)] {
            if let Step::Never = self.comparison(op, operand, end, true, state) {
                return Step::Never;
            }
        }
        Step::Taken
    }

    fn membership<'a>(&mut self, operand: &Expr, list: &[Expr], inside: bool, state: &mut State) -> Step<'a> {
        let Some(values) = list.iter().map(known).collect::<Option<Vec<_>>>() else { return Step::Taken };
        let (nulls, values): (Vec<_>, Vec<_>) = values.into_iter().partition(Scalar::is_null);
        if inside {
            return self.compare(operand, Limits { among: Some(values), limits: Vec::new() }, state);
        }
        // With a NULL among the candidates, NOT IN is never TRUE.
        if !nulls.is_empty() {
            return Step::Never;
        }
        let limits = values.into_iter().map(|value| (Limit::NotEqual, value)).collect();
        self.compare(operand, Limits { among: None, limits }, state)
    }

    fn like<'a>(&mut self, operand: &Expr, pattern: &Expr, escape: char, state: &mut State) -> Step<'a> {
        let pattern = match known(pattern) {
            Some(Scalar::String(pattern)) => pattern,
            Some(Scalar::Null) => return Step::Never,
            Some(_) | None => return Step::Taken,
        };
        if self.type_of(operand) != Some(ColumnType::String) {
            return Step::Taken;
        }
        let wanted = prefix(&pattern, escape);
        if wanted.rest == Rest::Nothing {
            return self.compare(operand, Limits::equal(Scalar::string(&wanted.text)), state);
        }
        let mut limits = vec![(Limit::AtLeast, Scalar::string(&wanted.text))];
        limits.extend(after(&wanted.text).map(|end| (Limit::Below, Scalar::string(&end))));
        self.compare(operand, Limits { among: None, limits }, state)
    }

    fn type_of(&self, column: &Expr) -> Option<ColumnType> {
        if let Expr::Column(path) = column { self.types.column_type(path) } else { None }
    }

    fn nullness<'a>(&mut self, column: &Expr, null: bool, state: &mut State) -> Step<'a> {
        let Expr::Column(path) = column else { return Step::Taken };
        let held = state.column(path);
        if held.null.is_some_and(|known| known != null) {
            return self.contradicts(path, Held::Value(Scalar::Null));
        }
        held.null = Some(null);
        Step::Taken
    }

    /// A comparison that must come out as wanted, which it does not for NULL on either side.
    fn compare<'a>(&mut self, column: &Expr, limits: Limits, state: &mut State) -> Step<'a> {
        let Expr::Column(path) = column else { return Step::Taken };
        if limits.limits.iter().any(|(_, value)| value.is_null()) {
            return Step::Never;
        }
        if let Step::Never = self.nullness(column, false, state) {
            return Step::Never;
        }
        let column_type = self.types.column_type(path);
        let held = state.column(path);
        if let Some(values) = limits.among {
            held.among(values, column_type.as_ref());
        }
        for (limit, value) in limits.limits {
            if let Some((class, value)) = placed(&value, column_type.as_ref()) {
                let whole = matches!(
                    column_type,
                    Some(ColumnType::Byte | ColumnType::Short | ColumnType::Integer | ColumnType::Long)
                );
                let (limit, value) = if whole { closed(limit, value) } else { (limit, value) };
                held.domain(class).limit(limit, value);
            }
        }
        match held.domains.iter().find(|(_, domain)| domain.is_empty()) {
            Some((_, domain)) => {
                let left = domain.held();
                self.contradicts(path, left)
            }
            None => Step::Taken,
        }
    }

    fn contradicts<'a>(&mut self, path: &[Arc<str>], held: Held) -> Step<'a> {
        let column = Arc::from(path.join("."));
        self.contradiction.get_or_insert(Evidence::Column { unit: None, column, held });
        Step::Never
    }
}

impl State {
    fn column(&mut self, path: &[Arc<str>]) -> &mut Column {
        let path: Vec<String> = path.iter().map(|part| part.to_ascii_lowercase()).collect();
        let at = self.columns.iter().position(|column| column.path == path).unwrap_or_else(|| {
            self.columns.push(Column { path, null: None, domains: Vec::new() });
            self.columns.len() - 1
        });
        &mut self.columns[at]
    }

    fn evidence(&self) -> Option<Evidence> {
        let column = self.columns.iter().find(|column| !column.domains.is_empty()).or(self.columns.first())?;
        let held = match (column.null, column.domains.first()) {
            (Some(true), _) => Held::Value(Scalar::Null),
            (_, Some((_, domain))) => domain.held(),
            (_, None) => Held::Unknown,
        };
        Some(Evidence::Column { unit: None, column: Arc::from(column.path.join(".")), held })
    }
}

impl Column {
    fn domain(&mut self, class: Class) -> &mut Domain {
        let at = self.domains.iter().position(|(known, _)| *known == class).unwrap_or_else(|| {
            self.domains.push((class, Domain::default()));
            self.domains.len() - 1
        });
        &mut self.domains[at].1
    }

    /// Candidates count only where all of them are compared alike.
    fn among(&mut self, values: Vec<Scalar>, column_type: Option<&ColumnType>) {
        let Some(placed) = values.iter().map(|value| placed(value, column_type)).collect::<Option<Vec<_>>>() else {
            return;
        };
        let class = placed.first().map_or(Class::Own, |(class, _)| *class);
        if placed.iter().all(|(other, _)| *other == class) {
            self.domain(class).among(placed.into_iter().map(|(_, value)| value).collect());
        }
    }
}

/// Comparisons of one column with constants, all of which must hold.
struct Limits {
    among: Option<Vec<Scalar>>,
    limits: Vec<(Limit, Scalar)>,
}

impl Limits {
    fn equal(value: Scalar) -> Self {
        if value.is_null() {
            // No value equals NULL.
            return Self { among: Some(Vec::new()), limits: Vec::new() };
        }
        Self { among: Some(vec![value]), limits: Vec::new() }
    }

    /// `column op value` as it is wanted; `None` for what is no comparison.
    fn of(op: BinaryOp, wanted: bool, value: Scalar) -> Option<Self> {
        let limit = match (op, wanted) {
            (BinaryOp::Equal, true) | (BinaryOp::NotEqual, false) => return Some(Self::equal(value)),
            (BinaryOp::Equal, false) | (BinaryOp::NotEqual, true) => Limit::NotEqual,
            (BinaryOp::Less, true) | (BinaryOp::GreaterOrEqual, false) => Limit::Below,
            (BinaryOp::LessOrEqual, true) | (BinaryOp::Greater, false) => Limit::AtMost,
            (BinaryOp::Greater, true) | (BinaryOp::LessOrEqual, false) => Limit::Above,
            (BinaryOp::GreaterOrEqual, true) | (BinaryOp::Less, false) => Limit::AtLeast,
            (
                BinaryOp::NullSafeEqual
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Add
                | BinaryOp::Subtract
                | BinaryOp::Multiply
                | BinaryOp::Divide
                | BinaryOp::Modulo,
                _,
            ) => return None,
        };
        Some(Self { among: None, limits: vec![(limit, value)] })
    }
}

/// Among whole numbers, above 5 is at least 6.
fn closed(limit: Limit, value: Scalar) -> (Limit, Scalar) {
    let moved = |by: i64| if let Scalar::Int(number) = value { number.checked_add(by).map(Scalar::Int) } else { None };
    match limit {
        Limit::Above => moved(1).map(|value| (Limit::AtLeast, value)),
        Limit::Below => moved(-1).map(|value| (Limit::AtMost, value)),
        Limit::AtLeast | Limit::AtMost | Limit::NotEqual => None,
    }
    .unwrap_or((limit, value))
}

/// The smallest text that is greater than everything with this prefix.
fn after(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The code points after U+D7FF up to U+DFFF are no characters.
        let next = if last == '\u{D7FF}' { Some('\u{E000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

fn constant<'a>(expr: &Expr, wanted: bool) -> Step<'a> {
    match known(expr) {
        Some(Scalar::Boolean(value)) if value == wanted => Step::Taken,
        Some(Scalar::Boolean(_) | Scalar::Null) => Step::Never,
        Some(_) | None => Step::Taken,
    }
}

/// The value of an expression without columns.
fn known(expr: &Expr) -> Option<Scalar> {
    if let Expr::Literal(value) = expr {
        return Some(value.clone());
    }
    if !expr.columns().is_empty() {
        return None;
    }
    match evaluate(expr, &|_: &[Arc<str>]| Value::Unbounded) {
        Value::Known(value) => Some(value),
        Value::Unbounded | Value::Failed(_) => None,
    }
}

const fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::NullSafeEqual
        | BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo
        | BinaryOp::And
        | BinaryOp::Or => op,
    }
}

/// The operands of a junction nested in itself.
fn terms(expr: &Expr, op: BinaryOp) -> Vec<&Expr> {
    let mut out = Vec::new();
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        if let Expr::Binary(inner, a, b) = expr
            && *inner == op
        {
            stack.extend([&**b, &**a]);
        } else {
            out.push(expr);
        }
    }
    out
}
