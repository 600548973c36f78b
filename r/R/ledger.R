# Ledgers: files that keep account of all releases about the same people.

# people: it counts people, whatever rows they have, and takes fits with a column of people alone.
ledger_create <- function(path, epsilon, delta, adjacency = "replace-one", rows_per_person = 1, people = FALSE) {
  if (isTRUE(people)) {
    if (!missing(rows_per_person)) refuse("rows_per_person: has no meaning with people = TRUE; leave one of them out")
    rows_per_person <- Inf
  }
  answer(.Call(C_ledger_create, path.expand(path), as.double(epsilon), as.double(delta), adjacency, as.double(rows_per_person)))
  invisible(path)
}

ledger_show <- function(path) {
  structure(jsonlite::fromJSON(answer(.Call(C_ledger_json, path.expand(path)))), class = "private_ledger")
}

ledger_total <- function(path, epsilon = ledger_show(path)$guarantee$epsilon) {
  answer(.Call(C_ledger_total, path.expand(path), as.double(epsilon)))
}

print.private_ledger <- function(x, ...) {
  of <- x$guarantee
  cat(
    "All that is released through this ledger, together, is (", format(of$epsilon), ", ", format(of$delta),
    ")-differentially private.\n",
    sep = ""
  )
  share <- as.numeric(x$spent$mu_squared) / as.numeric(x$caps$mu_squared)
  cat(sprintf("%.3g %% of its mu^2 is spent.\n", 100 * share))
  if (length(x$releases) > 0) print(x$releases[c("number", "time", "command")], row.names = FALSE)
  invisible(x)
}
