//! Predicates and expressions as a small tree.

use crate::{ColumnType, Scalar};
use std::sync::Arc;

/// An expression over the columns of one table. A predicate is an expression whose value is a boolean or NULL.
///
/// The tree has no types of its own: whoever evaluates it knows the table's schema. Semantics are SQL's, three-valued.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A column by its path; nested fields have more than one part. Names match without regard to case.
    Column(Vec<Arc<str>>),
    /// A constant.
    Literal(Scalar),
    /// `NOT x`, `- x`.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `x IS NULL`; with `negated`, `IS NOT NULL`.
    IsNull {
        /// What is looked at.
        operand: Box<Expr>,
        /// `IS NOT NULL`.
        negated: bool,
    },
    /// `x IN (a, b, …)`. A row-value IN has [`Expr::Row`] operands.
    In {
        /// What is looked for.
        operand: Box<Expr>,
        /// The candidates.
        list: Vec<Expr>,
        /// `NOT IN`.
        negated: bool,
    },
    /// `x BETWEEN low AND high`, both ends included.
    Between {
        /// What is compared.
        operand: Box<Expr>,
        /// Lower end.
        low: Box<Expr>,
        /// Upper end.
        high: Box<Expr>,
        /// `NOT BETWEEN`.
        negated: bool,
    },
    /// `x LIKE pattern`, with `%` and `_`; the escape character is `\` unless another is named.
    Like {
        /// What is matched.
        operand: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The character that takes `%` and `_` literally.
        escape: Option<char>,
        /// `NOT LIKE`.
        negated: bool,
    },
    /// `CAST(x AS type)`.
    Cast(Box<Expr>, ColumnType),
    /// `CASE [operand] WHEN … THEN … ELSE … END`.
    Case {
        /// The value compared with each arm; absent for the form with conditions.
        operand: Option<Box<Expr>>,
        /// The arms, in order.
        arms: Vec<CaseArm>,
        /// The value of no arm; NULL when absent.
        otherwise: Option<Box<Expr>>,
    },
    /// A function that we know.
    Call(Function, Vec<Expr>),
    /// A function that we do not know, or one whose value is not a function of its arguments (RAND, UUID, …): the
    /// conflict engine widens it to TRUE, evaluation refuses it by name.
    Unknown {
        /// The name as written.
        name: String,
        /// The arguments.
        arguments: Vec<Expr>,
    },
    /// A row value, `(a, b)`, as it stands on both sides of a row-value IN.
    Row(Vec<Expr>),
}

/// One arm of a CASE.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseArm {
    /// The condition, or the value that the operand is compared with.
    pub when: Expr,
    /// The value of this arm.
    pub then: Expr,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Logical NOT.
    Not,
    /// Arithmetic minus.
    Negate,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<=>`, equality in which NULL equals NULL.
    NullSafeEqual,
    /// Three-valued AND.
    And,
    /// Three-valued OR.
    Or,
}

/// The functions of the expression grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// First argument that is not NULL.
    Coalesce,
    /// Upper case.
    Upper,
    /// Lower case.
    Lower,
    /// Characters in a string.
    Length,
    /// `STARTSWITH(text, prefix)`.
    StartsWith,
    /// Absolute value.
    Abs,
    /// `IF(condition, then, else)`.
    If,
    /// Year of a date or timestamp.
    Year,
    /// Month, 1 to 12.
    Month,
    /// Day of the month, 1 to 31.
    Day,
    /// Whether a float is NaN; FALSE for NULL.
    IsNan,
}

impl Expr {
    /// The constant TRUE: the predicate that holds for every row.
    #[must_use]
    pub const fn always() -> Self {
        Self::Literal(Scalar::Boolean(true))
    }

    /// A top-level column.
    #[must_use]
    pub fn column(name: &str) -> Self {
        Self::Column(vec![Arc::from(name)])
    }

    /// `self op other`.
    #[must_use]
    pub fn binary(self, op: BinaryOp, other: Self) -> Self {
        Self::Binary(op, Box::new(self), Box::new(other))
    }

    /// `self AND other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.binary(BinaryOp::And, other)
    }

    /// `self OR other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.binary(BinaryOp::Or, other)
    }

    /// The direct sub-expressions, in order.
    #[must_use]
    pub fn children(&self) -> Vec<&Self> {
        match self {
            Self::Column(_) | Self::Literal(_) => Vec::new(),
            Self::Unary(_, x) | Self::Cast(x, _) | Self::IsNull { operand: x, .. } => vec![x],
            Self::Binary(_, a, b) => vec![a, b],
            Self::In { operand, list, .. } => std::iter::once(&**operand).chain(list).collect(),
            Self::Between { operand, low, high, .. } => vec![operand, low, high],
            Self::Like { operand, pattern, .. } => vec![operand, pattern],
            Self::Case { operand, arms, otherwise } => operand
                .iter()
                .map(|x| &**x)
                .chain(arms.iter().flat_map(|arm| [&arm.when, &arm.then]))
                .chain(otherwise.iter().map(|x| &**x))
                .collect(),
            Self::Call(_, arguments) | Self::Unknown { arguments, .. } | Self::Row(arguments) => {
                arguments.iter().collect()
            }
        }
    }

    /// Every column that the expression mentions, each once, in order of first mention.
    #[must_use]
    pub fn columns(&self) -> Vec<&[Arc<str>]> {
        let mut found: Vec<&[Arc<str>]> = Vec::new();
        let mut stack = vec![self];
        while let Some(expr) = stack.pop() {
            if let Self::Column(path) = expr
                && !found.contains(&path.as_slice())
            {
                found.push(path);
            }
            stack.extend(expr.children().into_iter().rev());
        }
        found
    }

    /// The conjuncts: the operands of the ANDs at the top, at least one.
    #[must_use]
    pub fn conjuncts(&self) -> Vec<&Self> {
        let mut out = Vec::new();
        let mut stack = vec![self];
        while let Some(expr) = stack.pop() {
            if let Self::Binary(BinaryOp::And, a, b) = expr {
                stack.push(b);
                stack.push(a);
            } else {
                out.push(expr);
            }
        }
        out
    }
}
