# Calls of the library, and what goes to it: settings as text, tables as columns of plain vectors.

# What a call gave; its failure is a condition of class gibbsite_error with the status of gibbsite.h.
answer <- function(given) {
  if (!inherits(given, "gibbsite_failure")) return(given)
  stop(errorCondition(given$message, class = "gibbsite_error", status = given$status, call = NULL))
}

# An error of this package itself.
refuse <- function(...) stop(errorCondition(paste0(...), class = "gibbsite_error", status = 2L, call = NULL))

gibbsite_version <- function() answer(.Call(C_version))

is_text <- function(x) is.character(x) && length(x) == 1 && !is.na(x)

# One text for each setting, as gibbsite_settings_set reads it.
settings_of <- function(...) {
  given <- list(...)
  given <- given[!vapply(given, is.null, NA)]
  if (length(given) > 0 && (is.null(names(given)) || any(names(given) == ""))) {
    refuse("...: settings need names, such as rows_per_person = 2")
  }
  parts <- given$date_parts  # list(hired = c("year", "month")), one setting a column
  given$date_parts <- NULL
  if (!is.null(parts) && (!is.list(parts) || is.null(names(parts)) || !all(vapply(parts, is.character, NA)))) {
    refuse("date_parts: must name the parts of columns, such as list(hired = c(\"year\", \"month\"))")
  }
  parts <- vapply(names(parts), function(name) enc2utf8(paste0(name, "=", paste(parts[[name]], collapse = ","))), "")
  names(parts) <- rep("date_parts", length(parts))
  c(vapply(names(given), function(name) {
    x <- given[[name]]
    if (name == "classes") return(as.character(jsonlite::toJSON(as.character(x))))
    if (length(x) == 0 || anyNA(x)) refuse(name, ": is missing; give a value")
    if (is.logical(x)) return(if (length(x) == 1 && x) "true" else "false")
    if (is.numeric(x)) return(paste(format(x, digits = 17, trim = TRUE, scientific = TRUE), collapse = ","))
    if (is_text(x)) return(enc2utf8(x))
    refuse(name, ": must be a number, a text or TRUE or FALSE; give one")
  }, ""), parts)
}

# The columns of a data frame of these names that it has, as the library reads them. Nothing is computed from the rows.
columns_of <- function(data, names) {
  names <- intersect(names, names(data))
  out <- lapply(names, function(name) {
    x <- data[[name]]
    if (is.factor(x) || is.character(x)) return(enc2utf8(as.character(x)))
    if (inherits(x, "Date")) return(structure(as.double(x), class = "Date"))
    if (!is.object(x) && is.null(dim(x)) && (is.logical(x) || is.integer(x) || is.double(x))) return(x)
    refuse(name, ": a column of class ", class(x)[1], " cannot be read; convert it to numbers, text, a factor or Date")
  })
  names(out) <- names
  out
}

is_table <- function(data) is.data.frame(data) || is_text(data)
require_table <- function(data, what) {
  if (!is_table(data)) refuse(what, ": must be a data frame, or the path of a file; give one")
  if (is.character(data)) path.expand(data) else data
}
