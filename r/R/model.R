# Released models: their JSON is all they are.

model_from <- function(json, call = NULL) {
  file <- jsonlite::fromJSON(json, simplifyVector = TRUE)
  kind <- if (is.null(file$certificate$constants$network)) "private_glm" else "private_network"
  structure(list(json = json, call = call), class = c(kind, "private_model"))
}

read_model <- function(path) model_from(answer(.Call(C_model_read, path.expand(path))))

write_model <- function(model, path, replace = FALSE) {
  require_model(model)
  if (!isTRUE(replace) && file.exists(path.expand(path))) {
    refuse(path, ": File exists; choose another path, or give replace = TRUE")
  }
  answer(.Call(C_model_write, model$json, path.expand(path), isTRUE(replace)))
  invisible(path)
}

require_model <- function(model) {
  if (!inherits(model, "private_model")) refuse("model: must be what private_glm(), private_network() or read_model() gave; give one")
}
parts_of <- function(model) jsonlite::fromJSON(model$json, simplifyVector = TRUE)

verify <- function(x) {
  found <- if (is_text(x)) {
    answer(.Call(C_verify_file, path.expand(x)))
  } else {
    require_model(x)
    answer(.Call(C_verify, x$json))
  }
  structure(jsonlite::fromJSON(found), class = "private_verification")
}

print.private_verification <- function(x, ...) {
  cat(if (x$void) "VOID: the noise came from a seed, so there is no guarantee" else if (x$valid) "VALID" else "INVALID", "\n", sep = "")
  lines <- if (x$valid) grep("recomputed", x$checks, value = TRUE) else x$failures
  cat(paste0("  ", unlist(lines), "\n"), sep = "")
  invisible(x)
}

print.private_model <- function(x, ...) {
  cat(answer(.Call(C_model_words, x$json)), "\n", sep = "")
  invisible(x)
}

guarantee_line <- function(model) {
  guarantee <- parts_of(model)$certificate$guarantee
  sprintf("(%s, %s)-differentially private", format(guarantee$epsilon), format(guarantee$delta))
}

print.private_glm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (!is.null(x$call)) cat("Call: ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  cat("Coefficients:\n")
  print(formatC(coef(x), digits = digits, format = "g"), quote = FALSE) # of a day a coefficient may be 1e-5
  cat("\n", guarantee_line(x), "\n", sep = "")
  invisible(x)
}

# ---- Effects ----

# object: a model of rows. reference: levels that others are compared with, by column.
effects.private_glm <- function(object, reference = NULL, ...) {
  texts <- if (is.null(reference)) character() else paste0(names(reference), "=", reference)
  table <- read.csv(
    text = answer(.Call(C_effects, object$json, enc2utf8(texts))), encoding = "UTF-8", check.names = FALSE,
    colClasses = c(term = "character", column = "character", level = "character"), na.strings = ""
  )
  truths <- names(table)[vapply(table, function(x) all(x %in% c("true", "false", NA)) && !all(is.na(x)), NA)]
  table[truths] <- lapply(table[truths], function(x) x == "true")
  table
}

# Whether the file has the estimates that intervals follow from.
has_intervals <- function(model) !is.null(parts_of(model)$model$estimates)

require_intervals <- function(model) {
  if (has_intervals(model)) return(invisible())
  refuse(
    "this model has no intervals, and none can be made after the fit; fit with intervals = TRUE, which the ",
    "mechanism \"whitened\" can answer without a larger budget"
  )
}

# Rows of the table and the place of what coef() says of each: of a straight line per unit, of others as they stand.
terms_of <- function(model) {
  table <- effects.private_glm(model)
  per_unit <- if ("per_unit" %in% names(table)) !is.na(table$per_unit) else rep(FALSE, nrow(table))
  pick <- function(name) {
    if (!name %in% names(table)) return(rep(NA_real_, nrow(table)))
    of_unit <- if (name == "estimate") "per_unit" else paste0("per_unit_", name)
    if (of_unit %in% names(table)) ifelse(per_unit, table[[of_unit]], table[[name]]) else table[[name]]
  }
  label <- ifelse(per_unit, table$column, table$term)
  if ("class" %in% names(table)) label <- paste0(table$class, ": ", label)
  data.frame(
    term = label, column = table$column, level = table$level, estimate = pick("estimate"), std_err = pick("std_err"),
    lower = pick("lower"), upper = pick("upper"), p_value = if ("p_value" %in% names(table)) table$p_value else NA_real_
  )
}

coef.private_glm <- function(object, ...) {
  of <- terms_of(object)
  structure(of$estimate, names = of$term)
}

confint.private_glm <- function(object, parm, level = 0.95, ...) {
  require_intervals(object)
  if (!isTRUE(all.equal(level, 0.95))) {
    refuse("level: the model's intervals are of 95 %; leave it out, or take the standard errors of effects()")
  }
  of <- terms_of(object)
  out <- cbind("2.5 %" = of$lower, "97.5 %" = of$upper)
  rownames(out) <- of$term
  if (missing(parm)) out else out[parm, , drop = FALSE]
}

summary.private_glm <- function(object, ...) {
  of <- terms_of(object)
  table <- as.matrix(of[c("estimate", "std_err", "lower", "upper", "p_value")])
  dimnames(table) <- list(of$term, c("Estimate", "Std. Error", "2.5 %", "97.5 %", "Pr(>|effect|)"))
  structure(
    list(
      call = object$call, coefficients = if (has_intervals(object)) table else table[, 1, drop = FALSE],
      words = answer(.Call(C_model_words, object$json)), intervals = answer(.Call(C_interval_words, object$json)), guarantee = guarantee_line(object)
    ),
    class = "summary.private_glm"
  )
}

# Whether each column has an effect at all: Wald's tests with the privacy noise in them.
anova.private_glm <- function(object, ...) {
  require_intervals(object)
  of <- read.csv(text = answer(.Call(C_column_tests, object$json)), encoding = "UTF-8", colClasses = c(column = "character"))
  table <- data.frame(Df = of$degrees_of_freedom, Chisq = of$chi_squared, P = of$p_value, row.names = of$column)
  names(table)[3] <- "Pr(>Chisq)"
  structure(
    table, heading = "Wald tests of whole columns, with privacy noise and sampling\n", class = c("anova", "data.frame")
  )
}

print.summary.private_glm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (!is.null(x$call)) cat("Call: ", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  print(signif(x$coefficients, digits))
  of <- if (nzchar(x$intervals)) {
    paste("Numbers are per unit, levels and knots against the mean of their column's.", x$intervals)
  } else {
    paste(
      "These are the coefficients that predictions are made by, held near 0, numbers per unit. How far noise moved them is",
      "not known: fit with intervals = TRUE for estimates with intervals."
    )
  }
  cat("", strwrap(of), "", sep = "\n")
  cat(x$words, "\n", sep = "")
  invisible(x)
}

plot.private_glm <- function(x, term = NULL, xlab = "effect", main = guarantee_line(x), ...) {
  of <- terms_of(x)
  of <- of[!is.na(of$column) & of$column != "", ]
  if (!is.null(term)) {
    of <- of[of$column == term, ]
    if (nrow(of) == 0) refuse("term: ", term, " is no column of the model; name one")
  }
  ends <- range(of$estimate, of$lower, of$upper, 0, na.rm = TRUE)
  knots <- suppressWarnings(as.numeric(of$level))
  if (!is.null(term) && nrow(of) > 1 && !anyNA(knots)) { # a curve, or levels that are numbers
    plot(knots, of$estimate, type = "b", pch = 19, ylim = ends, xlab = term, ylab = xlab, main = main, ...)
    segments(knots, of$lower, knots, of$upper)
    abline(h = 0, lty = 3)
    return(invisible(of))
  }
  places <- rev(seq_len(nrow(of)))
  old <- par(mar = c(5, min(20, 2 + 0.5 * max(nchar(of$term))), 4, 2))
  on.exit(par(old))
  plot(of$estimate, places, xlim = ends, yaxt = "n", pch = 19, xlab = xlab, ylab = "", main = main, ...)
  axis(2, places, of$term, las = 1)
  segments(of$lower, places, of$upper, places)
  abline(v = 0, lty = 3)
  invisible(of)
}

# ---- Predictions ----

predict.private_glm <- function(object, newdata, type = c("response", "class"), interval = FALSE, ...) {
  type <- match.arg(type)
  if (missing(newdata)) refuse("newdata: is missing; a released model holds no rows, so give some")
  newdata <- require_table(newdata, "newdata")
  if (isTRUE(interval)) require_intervals(object)
  model <- parts_of(object)$model
  used <- schema_columns(preprocessing_of(object))
  used <- used$name[!used$type %in% c("person", "weight")] # they say how rows count in a fit
  table <- if (is.data.frame(newdata)) columns_of(newdata, used) else newdata
  fit <- answer(tell(.Call(C_predict, object$json, table, FALSE)))
  classes <- model$classes
  if (ncol(fit) > 1) colnames(fit) <- classes
  if (type == "class") {
    if (is.null(classes)) refuse("type: \"class\" is of a model of classes; leave it out")
    place <- if (ncol(fit) > 1) max.col(fit, ties.method = "first") else 1L + (fit[, 1] >= 0.5)
    return(factor(classes[place], levels = classes))
  }
  if (!isTRUE(interval)) return(if (ncol(fit) > 1) fit else fit[, 1])
  ends <- answer(.Call(C_predict, object$json, table, TRUE))
  if (ncol(fit) == 1) return(cbind(fit = fit[, 1], lwr = ends[, 1], upr = ends[, 2]))
  low <- seq(1, ncol(ends), 2)
  list(fit = fit, lwr = structure(ends[, low], dimnames = dimnames(fit)), upr = structure(ends[, low + 1], dimnames = dimnames(fit)))
}

preprocessing_of <- function(model) jsonlite::fromJSON(model$json, simplifyVector = FALSE)$model$preprocessing

# How good predictions are on rows with labels; private, like the rows.
evaluate <- function(model, data, threshold = 0.5) {
  if (!inherits(model, "private_glm")) refuse("model: must be a model of rows; give one of private_glm()")
  if (!is.numeric(threshold) || length(threshold) != 1) refuse("threshold: must be a number from 0 to 1; give one")
  data <- require_table(data, "data")
  schema <- preprocessing_of(model)
  table <- if (is.data.frame(data)) columns_of(data, c(schema_columns(schema)$name, schema$label)) else data
  jsonlite::fromJSON(answer(tell(.Call(C_evaluate, model$json, table, as.double(threshold)))))
}

# ---- Questions and synthetic tables ----

query <- function(model, question, of_class = NULL, against = NULL) {
  require_model(model)
  found <- jsonlite::fromJSON(answer(.Call(C_query, model$json, enc2utf8(question), of_class, against)))
  for (line in found$warnings) warning(line, call. = FALSE)
  found[names(found) != "warnings"]
}

synthesize <- function(model, rows = NULL, seed = NULL) {
  require_model(model)
  rows <- if (is.null(rows)) 0 else as.double(rows)
  csv <- answer(.Call(C_synthesize, model$json, rows, if (is.null(seed)) NULL else as.double(seed)))
  head_line <- sub("\n.*", "", csv)
  separator <- if (grepl(";", head_line) && !grepl(",", head_line)) ";" else ","
  out <- read.csv(
    text = csv, sep = separator, encoding = "UTF-8", check.names = FALSE, colClasses = "character", na.strings = character()
  )
  parts <- preprocessing_of(model)
  types <- schema_columns(parts)
  for (name in intersect(types$name[types$type == "number"], names(out))) {
    out[[name]] <- suppressWarnings(as.numeric(sub(",", ".", out[[name]], fixed = TRUE)))
  }
  out
}
