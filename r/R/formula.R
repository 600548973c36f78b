# Formulas: label ~ terms. A term is a column, curve(column), curve(column, knots), or an interaction a:b; a * b is
# a + b + a:b, and . stands for every column that the schema uses.

parse_formula <- function(formula) {
  if (!inherits(formula, "formula") || length(formula) != 3) {
    refuse("formula: must be label ~ terms, such as income ~ curve(age) + sex; give one")
  }
  if (!is.name(formula[[2]])) refuse("formula: ", deparse(formula[[2]]), " is no column; name the label's")
  of <- terms(formula, allowDotAsName = TRUE)
  if (length(attr(of, "offset")) > 0) refuse("formula: offset() is said by the schema, as an exposure; leave it out")
  variables <- as.list(attr(of, "variables"))[-1]
  factors <- attr(of, "factors")
  parts <- if (length(factors) == 0) list() else lapply(seq_len(ncol(factors)), function(k) variables[factors[, k] > 0])
  list(label = as.character(formula[[2]]), terms = lapply(parts, one_term), intercept = attr(of, "intercept") == 1)
}

one_term <- function(variables) {
  if (length(variables) > 1) return(vapply(variables, name_of_variable, ""))
  is_curve <- is.call(variables[[1]]) && identical(variables[[1]][[1]], as.name("curve"))
  if (!is_curve) return(name_of_variable(variables[[1]]))
  given <- as.list(variables[[1]])[-1]
  if (length(given) == 0 || length(given) > 2 || !is.name(given[[1]])) {
    refuse("formula: ", deparse(variables[[1]]), ": give curve(column), or curve(column, knots)")
  }
  out <- list(curve = as.character(given[[1]]))
  if (length(given) == 2) out$knots <- given[[2]]
  out
}

name_of_variable <- function(variable) {
  if (is.name(variable)) return(as.character(variable))
  refuse("formula: ", deparse(variable), ": a term is a column, curve(column) or an interaction a:b of columns")
}

# The terms as the library reads them, with . spelled out.
terms_json <- function(terms, used) {
  dots <- vapply(terms, identical, NA, ".")
  spelled <- c(as.list(if (any(dots)) used), terms[!dots])
  as.character(jsonlite::toJSON(lapply(spelled, function(term) {
    if (is.list(term)) lapply(term, jsonlite::unbox) else if (length(term) > 1) term else jsonlite::unbox(term)
  })))
}

# The label that a family is of, NULL for any. The loss is what the label asks for: `model` says another.
label_of_family <- function(family) {
  if (is.null(family)) return(NULL)
  if (is.function(family)) family <- family()
  if (inherits(family, "family")) {
    links <- c(binomial = "logit", gaussian = "identity", poisson = "log")
    if (!isTRUE(links[family$family] == family$link)) {
      refuse("family: ", family$family, "(", family$link, ") is not fitted; give binomial, gaussian or poisson with its usual link")
    }
    family <- family$family
  }
  if (!is_text(family) || !family %in% c("binomial", "multinomial", "gaussian", "poisson")) {
    refuse("family: must be binomial, multinomial, gaussian or poisson; give one, or leave it out")
  }
  family
}

# parts: of a schema, as schema_parts() gives them.
require_family <- function(family, parts) {
  of_label <- if (!is.null(parts$classes)) {
    "multinomial"
  } else if (isTRUE(parts$counts)) {
    "poisson"
  } else if (!is.null(parts$range)) {
    "gaussian"
  } else {
    "binomial"
  }
  if (is.null(family) || family == of_label) return(invisible())
  refuse("family: is ", family, ", and the schema's label is of ", of_label, "; make them one, or leave family out")
}
