# Plans and fits.

# What the library says of a fit, a warning a line.
tell <- function(given) {
  said <- attr(given, "said")
  for (line in if (is.null(said)) character() else strsplit(said, "\n", fixed = TRUE)[[1]]) warning(line, call. = FALSE)
  attr(given, "said") <- NULL
  given
}

run_fit <- function(data, columns, toml, network, settings, ledger) {
  if (!is.null(ledger) && !is_text(ledger)) refuse("ledger: must be the path of a file that ledger_create() made; give one")
  table <- if (is.data.frame(data)) columns_of(data, columns) else data
  ledger <- if (is.null(ledger)) NULL else path.expand(ledger)
  answer(tell(.Call(C_fit, table, toml, network, settings, ledger)))
}

private_glm <- function(formula, data, epsilon, delta, schema, family = NULL, intervals = FALSE, ledger = NULL, ...) {
  call <- match.call()
  data <- require_table(data, "data")
  asked <- parse_formula(formula)
  family <- label_of_family(family)
  settings <- settings_of(epsilon = epsilon, delta = delta, intervals = if (isTRUE(intervals)) TRUE, ...)
  if (identical(schema, "private")) {
    json <- fit_by_bought(asked, data, settings, ledger)
  } else {
    toml <- toml_of_formula(asked, schema)
    parts <- schema_parts(toml)
    require_family(family, parts)
    json <- run_fit(data, c(schema_columns(parts)$name, parts$label), toml, FALSE, settings, ledger)
  }
  model_from(json, call)
}

# The schema with the formula's terms alone.
toml_of_formula <- function(asked, schema) {
  toml <- schema_toml(schema)
  parts <- schema_parts(toml)
  if (!identical(parts$label, asked$label)) {
    refuse("formula: the label is ", asked$label, ", and the schema's is ", parts$label, "; make them one")
  }
  if (identical(asked$terms, list(".")) && asked$intercept) return(toml)
  columns <- schema_columns(parts)
  used <- columns$name[columns$type %in% c("number", "category", "date", "year", "month", "weekday", "boolean")]
  answer(.Call(C_schema_select, toml, terms_json(asked$terms, used), asked$intercept))
}

# A part of the budget buys the schema of the columns that the formula names.
fit_by_bought <- function(asked, data, settings, ledger) {
  if (!is.data.frame(data)) refuse("data: must be a data frame where the schema is \"private\"; read the file")
  plain <- vapply(asked$terms, is_text, NA)
  if (!all(plain) || !asked$intercept) {
    refuse("formula: curves, interactions and - 1 need a schema; name columns alone, or give one")
  }
  names <- unlist(asked$terms)
  if ("." %in% names) names <- names(data)
  absent <- setdiff(c(asked$label, names), names(data))
  if (length(absent) > 0) refuse("formula: data has no column ", absent[1], "; name one that it has")
  counting <- settings[names(settings) %in% c("person", "weight", "exposure")]
  for (name in names(counting)) {
    if (!counting[[name]] %in% names(data)) refuse(name, ": data has no column ", counting[[name]], "; name one that it has")
  }
  run_fit(data, unique(c(setdiff(names, asked$label), counting, asked$label)), NULL, FALSE, c(settings, label = asked$label), ledger)
}

private_network <- function(data, epsilon, delta, schema, ledger = NULL, ...) {
  call <- match.call()
  data <- require_table(data, "data")
  settings <- settings_of(epsilon = epsilon, delta = delta, ...)
  if (identical(schema, "private")) {
    columns <- if (is.data.frame(data)) names(data)
    return(model_from(run_fit(data, columns, NULL, TRUE, c(settings, model = "network"), ledger), call))
  }
  toml <- schema_toml(schema, TRUE)
  model_from(run_fit(data, schema_columns(schema_parts(toml, TRUE))$name, toml, TRUE, settings, ledger), call)
}

private_plan <- function(rows, epsilon, delta, schema, formula = NULL, intervals = FALSE, ...) {
  toml <- if (is.null(formula)) schema_toml(schema) else toml_of_formula(parse_formula(formula), schema)
  settings <- settings_of(epsilon = epsilon, delta = delta, intervals = if (isTRUE(intervals)) TRUE, ...)
  plan <- jsonlite::fromJSON(answer(tell(.Call(C_plan, toml, FALSE, settings, as.double(rows)))), simplifyVector = FALSE)
  structure(plan, class = "private_plan")
}

print.private_plan <- function(x, ...) {
  cat("chosen: ", x$chosen, "\n", sep = "")
  pick <- function(name, otherwise) {
    vapply(x$offers, function(offer) if (is.null(offer[[name]])) otherwise else offer[[name]], otherwise)
  }
  print(data.frame(mechanism = pick("name", ""), feasible = pick("feasible", NA), why = pick("why", "")), row.names = FALSE)
  invisible(x)
}
