# Schemas: what is public about a table. Ranges and levels are given by a person; none is read from rows.

quoted <- function(x) vapply(enc2utf8(as.character(x)), function(one) as.character(jsonlite::toJSON(one, auto_unbox = TRUE)), "")
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
digits <- function(x) format(x, digits = 17, trim = TRUE)

column_toml <- function(name, x) {
  describe <- function(type, key, values) paste0("{type = \"", type, "\", ", key, " = ", listed(values), "}")
  text <- if (is_table_ignored(x)) {
    "{type = \"ignore\"}"
  } else if (inherits(x, "Date") && length(x) == 2) {
    describe("date", "range", quoted(format(x)))
  } else if (is.numeric(x) && length(x) == 2) {
    describe("number", "range", digits(x))
  } else if (is.logical(x)) {
    "{type = \"boolean\"}"
  } else if (identical(x, "person") || identical(x, "weight")) {
    refuse(name, ": is no category of one level; give ", if (x == "person") {
      paste0("person = ", quoted(name), " beside columns")
    } else {
      paste0("weight = list(", name, " = c(0, highest)) beside columns")
    })
  } else if (is.character(x) && length(x) > 0) {
    describe("category", "levels", quoted(x))
  } else {
    refuse(name, ": must be c(lowest, highest), two dates, levels, a logical for TRUE and FALSE, or NULL to ignore it")
  }
  paste0(quoted(name), " = ", text)
}
is_table_ignored <- function(x) is.null(x)

# What says how rows count: the column of ids, list(w = c(0, 9)), a column of weights with its public range, and of
# exposures likewise.
counting_toml <- function(person, weight, exposure) {
  if (!is.null(person) && !is_text(person)) refuse("person: must be the name of the column of ids; give one")
  ranged <- function(what, type, wanted) {
    if (is.null(what)) return(NULL)
    is_one <- is.list(what) && length(what) == 1 && is_text(names(what)) && is.numeric(what[[1]]) && length(what[[1]]) == 2
    if (!is_one) refuse(type, ": must be a list of one public range ", wanted, "; give one")
    paste0(quoted(names(what)), " = {type = ", quoted(type), ", range = ", listed(digits(what[[1]])), "}")
  }
  c(
    if (!is.null(person)) paste0(quoted(person), " = {type = \"person\"}"),
    ranged(weight, "weight", "from 0, such as list(w = c(0, 9))"),
    ranged(exposure, "exposure", "above 0, such as list(years = c(0.1, 10))")
  )
}

private_schema <- function(label, columns, positive = NULL, negative = NULL, classes = NULL, range = NULL, counts = FALSE,
                           missing = NULL, network = NULL, person = NULL, weight = NULL, exposure = NULL) {
  if (!is_text(label)) refuse("label: must be the name of a column; give one")
  if (!is.list(columns) || is.null(names(columns)) || any(names(columns) == "")) {
    refuse("columns: must be a named list, such as list(age = c(17, 90), sex = c(\"Female\", \"Male\")); give one")
  }
  lines <- c(
    paste0("label = ", quoted(label)),
    if (!is.null(positive)) paste0("positive = ", quoted(positive)),
    if (!is.null(negative)) paste0("negative = ", quoted(negative)),
    if (!is.null(classes)) paste0("classes = ", listed(quoted(classes))),
    if (!is.null(range)) paste0("range = ", listed(digits(range))),
    if (isTRUE(counts)) "counts = true",
    if (!is.null(missing)) paste0("missing = ", quoted(missing)),
    "[columns]",
    unlist(lapply(names(columns), function(name) column_toml(name, columns[[name]]))),
    counting_toml(person, weight, exposure)
  )
  if (!is.null(network)) {
    lines <- c(lines, "[network]", vapply(names(network), function(name) {
      paste0(quoted(name), " = ", listed(quoted(network[[name]])))
    }, ""))
  }
  text <- paste(lines, collapse = "\n")
  answer(.Call(C_schema_parse, text, FALSE)) # what is wrong is said now
  structure(list(toml = text), class = "private_schema")
}

read_schema <- function(path) {
  if (!is_text(path)) refuse("path: must be the path of a TOML file; give one")
  text <- paste(readLines(path, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  structure(list(toml = text, path = path), class = "private_schema")
}

print.private_schema <- function(x, ...) {
  cat(x$toml, "\n", sep = "")
  invisible(x)
}

# The library's TOML of a schema that a user gave.
schema_toml <- function(schema, network = FALSE) {
  if (is_text(schema)) return(answer(.Call(C_schema_read, path.expand(schema), network)))
  if (!inherits(schema, "private_schema")) refuse("schema: must be of private_schema(), or the path of a TOML file; give one")
  if (!is.null(schema$path)) return(answer(.Call(C_schema_read, path.expand(schema$path), network)))
  answer(.Call(C_schema_parse, schema$toml, network))
}

schema_parts <- function(toml, network = FALSE) {
  jsonlite::fromJSON(answer(.Call(C_schema_json, toml, network)), simplifyVector = FALSE)
}
# The columns of a schema that are read.
schema_columns <- function(parts) {
  names <- vapply(parts$columns, function(column) column$name, "")
  types <- vapply(parts$columns, function(column) column$type, "")
  data.frame(name = names, type = types)[types != "ignore", ]
}
