# Plain tests: an error ends them. Statistical ones state their chance of failing.
library(gibbsite)

check <- function(what, holds) if (!isTRUE(holds)) stop("check: ", what, call. = FALSE)
refused <- function(call, status, words) {
  condition <- tryCatch({
    call
    NULL
  }, gibbsite_error = identity)
  check(paste("refused:", words), !is.null(condition) && condition$status == status && grepl(words, conditionMessage(condition), fixed = TRUE))
}
Sys.setenv(XDG_STATE_HOME = tempdir())

people <- as.data.frame(UCBAdmissions)
people <- people[rep(seq_len(nrow(people)), people$Freq), c("Gender", "Dept", "Admit")]
columns <- list(Gender = c("Male", "Female"), Dept = LETTERS[1:6])
schema <- private_schema("Admit", columns, positive = "Admitted", negative = "Rejected")

# ---- A regression, beside glm ----
fit <- private_glm(Admit ~ Gender + Dept, people, epsilon = 4, delta = 1e-6, schema = schema, family = binomial, intervals = TRUE)
plain <- glm(I(Admit == "Admitted") ~ Dept, binomial, people)
check("it is valid", verify(fit)$valid && !verify(fit)$void)
check("kinds of coefficients", identical(names(coef(fit)), c(paste0("Gender=", columns$Gender), paste0("Dept=", columns$Dept), "(baseline)")))
# A and F are 3.3 apart on the scale of log-odds; noise at epsilon 4 has a standard deviation under 0.15: 10 of them.
apart <- coef(fit)[["Dept=A"]] - coef(fit)[["Dept=F"]]
check("departments as glm has them", abs(apart + coef(plain)[["DeptF"]]) < 1.5)
ends <- confint(fit)
check("intervals", identical(rownames(ends), names(coef(fit))) && all(ends[, 1] < coef(fit) & coef(fit) < ends[, 2]))
tests <- anova(fit)
check("a test of each column", identical(rownames(tests), names(columns)) && all(tests$Df == c(1, 5)) && tests["Dept", 3] < 0.001)
check("one of them", identical(dim(confint(fit, "Dept=A")), c(1L, 2L)))
refused(confint(fit, level = 0.9), 2, "95 %")
check("summary", ncol(summary(fit)$coefficients) == 5)
check("effects", "vs_reference_odds_ratio" %in% names(effects(fit, reference = c(Gender = "Female"))))
refused(effects(fit, reference = c(Gender = "f")), 2, "Gender")
effect <- query(fit, "Gender=Female - Gender=Male")
check("what intervals hold", grepl("95 %", summary(fit)$intervals, fixed = TRUE))
check("an effect", effect$lower < effect$estimate && effect$estimate < effect$upper)
invisible(capture.output(print(fit), print(summary(fit)), print(verify(fit)), print(schema)))
grDevices::pdf(NULL)
check("a picture", nrow(plot(fit)) == 8 && nrow(plot(fit, term = "Dept")) == 6)
invisible(grDevices::dev.off())

chances <- predict(fit, people)
check("a probability a row", length(chances) == nrow(people) && all(chances > 0 & chances < 1))
classes <- predict(fit, people, type = "class")
check("classes", identical(levels(classes), c("Rejected", "Admitted")) && identical(classes == "Admitted", chances >= 0.5))
bands <- predict(fit, people[c(1, 4000), 1:2], interval = TRUE)
check("bands", identical(colnames(bands), c("fit", "lwr", "upr")) && all(bands[, 2] < bands[, 1] & bands[, 1] < bands[, 3]))

strange <- transform(people[1:20, 1:2], Dept = c("Z", NA, rep("A", 18)))
said <- tryCatch(predict(fit, strange), warning = conditionMessage)
check("a level that is not listed is predicted with a warning", grepl("2 of 20 rows have a cell that the model cannot read", said, fixed = TRUE))
check("it is predicted", length(suppressWarnings(predict(fit, strange))) == 20)
scores <- evaluate(fit, people)
check("scores", abs(scores$accuracy - mean(classes == people$Admit)) < 1e-12 && scores$rows == nrow(people) && scores$auc > 0.5)
check("a threshold", sum(evaluate(fit, people, threshold = 0.9999)$confusion[, 2]) == 0 && identical(dim(scores$confusion), c(2L, 2L)))
refused(evaluate(fit, people, threshold = 2), 2, "threshold")
refused(evaluate(fit, people[, 1:2]), 2, "Admit")

# ---- Without intervals the error says what to ask for ----
bare <- private_glm(Admit ~ ., people, epsilon = 1, delta = 1e-6, schema = schema)
refused(confint(bare), 2, "intervals = TRUE")
refused(anova(bare), 2, "intervals = TRUE")
refused(predict(bare, people, interval = TRUE), 2, "intervals = TRUE")
check("coefficients without", all(is.finite(coef(bare))) && ncol(summary(bare)$coefficients) == 1)

# ---- Files: a path, and models ----
csv <- tempfile(fileext = ".csv")
write.csv(people, csv, row.names = FALSE)
by_path <- private_glm(Admit ~ Gender + Dept, csv, epsilon = 1, delta = 1e-6, schema = schema)
check("a path predicts as its rows do", identical(predict(by_path, csv), predict(by_path, people)))
model <- tempfile(fileext = ".json")
write_model(fit, model)
refused(write_model(fit, model), 2, "File exists")
check("read again", identical(coef(read_model(model)), coef(fit)) && verify(model)$valid)
saved <- tempfile()
saveRDS(fit, saved)
check("kept by saveRDS", identical(coef(readRDS(saved)), coef(fit)))
forged <- readLines(model)
forged <- sub('"epsilon": 4.0', '"epsilon": 0.5', forged, fixed = TRUE)
writeLines(forged, model)
check("a forged certificate", !verify(model)$valid)

# ---- What NA, dates, logicals and numbers become; a curve and an interaction ----
set.seed(1)
n <- 3000
rows <- data.frame(
  age = round(runif(n, 18, 80)), member = runif(n) < 0.5, since = as.Date("2000-01-01") + sample(9000, n, TRUE), hours = runif(n, 0, 60),
  sex = factor(sample(c("f", "m"), n, TRUE)), other = seq_len(n)
)
rows$income <- 20 + 0.3 * (rows$age - 18) - 0.006 * (rows$age - 18)^2 + 5 * rows$member + rnorm(n)
rows$hours[5] <- NA
rows$sex[7] <- NA
rows$member[9] <- NA
wide <- private_schema(
  "income", list(age = c(18, 80), member = NA, since = as.Date(c("2000-01-01", "2024-12-31")), hours = c(0, 60), sex = c("f", "m"), other = NULL),
  range = c(0, 60), missing = ""
)
curved <- private_glm(income ~ curve(age, 6) + member * sex + since + hours, rows, epsilon = 8, delta = 1e-6, schema = wide, family = gaussian)
check("curves and interactions", verify(curved)$valid && sum(grepl("^age=[0-9]", names(coef(curved)))) == 6 && sum(grepl("sex=true", names(coef(curved)))) == 2)
invisible({
  grDevices::pdf(NULL)
  plot(curved, term = "age")
  grDevices::dev.off()
})
by_csv <- tempfile(fileext = ".csv")
write.csv(rows, by_csv, row.names = FALSE, na = "")
check("a data frame is read as its CSV file", isTRUE(all.equal(predict(curved, rows), predict(curved, by_csv), tolerance = 1e-6)))  # CSV has 15 digits
check("people aged 18 and 50", diff(predict(curved, transform(rows[c(1, 1), ], age = c(18, 50)))) > 0) # 3.5 apart, of deviation under 0.3
strict <- private_schema("income", list(age = c(18, 80), hours = c(0, 60)), range = c(0, 60))
refused(private_glm(income ~ age + hours, rows, 1, 1e-6, strict), 2, "hours")
refused(private_glm(income ~ age, transform(rows, age = as.POSIXct(since)), 1, 1e-6, strict), 2, "POSIXct")

# ---- Formulas and settings that are none ----
refused(private_glm(Admit ~ log(Dept), people, 1, 1e-6, schema), 2, "log(Dept)")
refused(private_glm(Admit ~ curve(Dept), people, 1, 1e-6, schema), 2, "no number")
refused(private_glm(Admit ~ age, people, 1, 1e-6, schema), 2, "has no column 'age'")
refused(private_glm(Gender ~ Dept, people, 1, 1e-6, schema), 2, "the schema's is Admit")
refused(private_glm(Admit ~ ., people, 1, 1e-6, schema, seed = 1), 2, "seed")
refused(private_glm(Admit ~ ., people, 1, 1e-6, schema, epsilom = 1), 2, "epsilom")
refused(private_glm(Admit ~ ., people, 1, 1e-6, schema, family = binomial(link = "probit")), 2, "probit")
refused(private_glm(Admit ~ ., people, 1, 1e-6, schema, mechanism = "dalalyan"), 4, "passes over the data")
refused(private_schema("y", list(a = c(3, 1)), range = c(0, 1)), 2, "a")
refused(predict(bare), 2, "newdata")

# ---- A schema that is bought ----
bought <- private_glm(Admit ~ ., people, epsilon = 3, delta = 1e-6, schema = "private", positive = "Admitted")
check("a bought schema", verify(bought)$valid && length(predict(bought, people)) == nrow(people))
refused(private_glm(Admit ~ curve(Dept), people, 1, 1e-6, "private", positive = "Admitted"), 2, "need a schema")
refused(private_glm(Admit ~ ., people, 1, 1e-6, "private"), 2, "positive: is missing")
by_network <- private_network(people, epsilon = 3, delta = 1e-6, schema = "private")
check("a network with its schema", verify(by_network)$valid && nrow(synthesize(by_network, 50, seed = 1)) == 50)
refused(private_network(people, 1, 1e-6, "private", positive = "Admitted", label = "Admit"), 2, "label")
known <- tempfile(fileext = ".csv")
write.csv(people[seq(1, nrow(people), by = 7), ], known, row.names = FALSE)
of_known <- private_glm(Admit ~ ., people, epsilon = 1, delta = 1e-6, schema = "private", positive = "Admitted", public = known)
check("a public table", verify(of_known)$valid && grepl(basename(known), of_known$json, fixed = TRUE))
refused(private_glm(Admit ~ ., people, 1, 1e-6, schema, public = known), 2, "public")

# ---- Parts of dates ----
staff <- data.frame(hired = as.Date("2015-01-01") + (seq_len(4000) * 7) %% 2900, wage = seq_len(4000) %% 50)
staff$good <- ifelse(format(staff$hired, "%m") %in% c("01", "02", "03"), "yes", "no")
dated <- private_glm(good ~ ., staff, epsilon = 8, delta = 1e-6, schema = "private", positive = "yes",
                     date_parts = list(hired = c("month", "year")))
check("parts that are asked for", verify(dated)$valid && all(c("hired_month=Jan", "hired_year") %in% names(coef(dated))))
# Three months of twelve: noise at epsilon 8 is under 0.3 of a log-odds, and they are 4 or more apart: 10 deviations.
check("months as they are", coef(dated)[["hired_month=Feb"]] > coef(dated)[["hired_month=Aug"]] + 1)
refused(private_glm(good ~ ., staff, 8, 1e-6, "private", positive = "yes", date_parts = list(hired = "day")), 2, "names no parts")

# ---- Names that are not R's, and classes that read as other things ----
set.seed(2)
odd <- data.frame(age = round(runif(2000, 20, 60), 3), town = sample(c("Z\u00fcrich", "a \"b\", c"), 2000, TRUE))
odd$bought <- ifelse(odd$age > 40, "TRUE", sample(c("NA", "TRUE"), 2000, TRUE))
names(odd)[1] <- "the age, $HOME"
of_odd <- private_schema("bought", list(`the age, $HOME` = c(20, 60), town = c("Z\u00fcrich", "a \"b\", c")), positive = "TRUE", negative = "NA")
strange <- private_glm(bought ~ `the age, $HOME` + town, odd, epsilon = 20, delta = 1e-6, schema = of_odd)
found <- predict(strange, odd, type = "class")
check("hostile names", identical(levels(found), c("NA", "TRUE")) && "the age, $HOME" %in% names(coef(strange)))
check("older people bought", mean(found[odd[[1]] > 40] == "TRUE") > 0.9)
older <- odd
older$town <- iconv(older$town, "UTF-8", "latin1")
check("text of another encoding", identical(predict(strange, older), predict(strange, odd)))

# ---- Several classes ----
several <- private_schema("Dept", list(Gender = c("Male", "Female"), Admit = c("Admitted", "Rejected")), classes = LETTERS[1:6])
softmax <- private_glm(Dept ~ ., people, epsilon = 4, delta = 1e-6, schema = several, family = "multinomial")
shares <- predict(softmax, people[1:10, ])
check("shares of classes", identical(colnames(shares), LETTERS[1:6]) && all(abs(rowSums(shares) - 1) < 1e-9))

# ---- A ledger: a release without room leaves no model and no entry ----
ledger <- tempfile(fileext = ".ledger")
ledger_create(ledger, epsilon = 1.2, delta = 1e-5)
entered <- private_glm(Admit ~ ., people, epsilon = 1, delta = 1e-6, schema = schema, ledger = ledger)
refused(private_glm(Admit ~ ., people, epsilon = 1, delta = 1e-6, schema = schema, ledger = ledger), 5, "ledger")
check("one entry", nrow(ledger_show(ledger)$releases) == 1 && ledger_total(ledger) < 1e-5)
digest <- jsonlite::fromJSON(entered$json)$certificate$digest
check("it is the model's", identical(ledger_show(ledger)$releases$digest, digest))
invisible(capture.output(print(ledger_show(ledger))))

# ---- A network ----
network <- private_network(people, epsilon = 4, delta = 1e-6, schema = schema, structure = "private")
answer <- query(network, "P(Gender = Female)")$probability
check("a share", abs(answer - mean(people$Gender == "Female")) < 0.05) # noise of a share is under 0.002
drawn <- synthesize(network, 500, seed = 3)
check("people", nrow(drawn) == 500 && identical(drawn, synthesize(network, 500, seed = 3)) && all(drawn$Dept %in% LETTERS[1:6]))
refused(synthesize(fit, 5), 2, "network")
check("a plan", is.list(private_plan(nrow(people), 1, 1e-6, schema)))
said <- tryCatch(private_plan(nrow(people), 20, 1e-6, schema), warning = conditionMessage)
check("a plan warns", is.character(said) && grepl("= 20 by itself", said, fixed = TRUE))

# ---- People with several rows ----
set.seed(3)
visits <- data.frame(id = c(sample(4000L, 11000, TRUE), rep(5000L, 40)), age = round(runif(11040, 18, 80)), sex = sample(c("f", "m"), 11040, TRUE))
visits$ill <- ifelse(runif(nrow(visits)) < plogis((visits$age - 50) / 10), "yes", "no")
patients <- length(unique(visits$id))
of_people <- private_schema("ill", list(age = c(18, 80), sex = c("f", "m")), positive = "yes", negative = "no", person = "id")
counted <- function(model, k) {
  constants <- jsonlite::fromJSON(model$json)$certificate$constants
  words <- if (inherits(model, "private_glm")) summary(model)$words else paste(capture.output(print(model)), collapse = " ")
  verify(model)$valid && identical(constants$people, patients) && identical(constants$rows_of_person, k) &&
    grepl(paste("any number of rows per person, counted as", if (k == 1) "one" else paste("at most", k)), words, fixed = TRUE)
}
held <- private_glm(ill ~ ., visits, 1, 1e-6, of_people, intervals = TRUE, rows_per_person = 2)
check("people", counted(held, 2L))
check("ids are not needed to predict", length(predict(held, visits[1:5, c("age", "sex")])) == 5)
visits_csv <- tempfile(fileext = ".csv")
write.csv(visits, visits_csv, row.names = FALSE)
check("people of a file", counted(private_glm(ill ~ age, visits_csv, 1, 1e-6, of_people, rows_per_person = 3), 3L))
check("people of a network", counted(private_network(visits, 1, 1e-6, of_people, structure = "private"), 1L))
check("bought", counted(private_glm(ill ~ ., visits, 4, 1e-6, "private", positive = "yes", person = "id", rows_per_person = 2), 2L))
check("a network bought", counted(private_network(visits, 4, 1e-6, "private", person = "id"), 1L))
# 400 rows of one person among 1,600 people: 1/1601 of them, a fifth of the rows; noise is under 3 people: 25 of them.
many <- data.frame(id = c(rep("one", 400), paste0("p", 1:1600)), x = rep(c("a", "b"), c(400, 1600)), z = "q")
share <- function(schema) query(private_network(many, 100, 1e-6, schema, structure = "private"), "P(x = a)")$probability
check("one person of many rows", share(private_schema("x", list(z = c("q", "r")), positive = "a", negative = "b", person = "id")) < 0.05)
check("as rows", share(private_schema("x", list(z = c("q", "r"), id = NULL), positive = "a", negative = "b")) > 0.15)
refused(private_schema("ill", list(age = c(18, 80), id = "person")), 2, "person = \"id\"")
refused(private_schema("ill", list(age = c(18, 80)), positive = "yes", weight = c(0, 9)), 2, "list(w = c(0, 9))")
refused(private_glm(ill ~ ., visits, 1, 1e-6, of_people, person = "id"), 2, "person")
refused(private_glm(ill ~ ., visits, 4, 1e-6, "private", positive = "yes", person = "nobody"), 2, "no column nobody")
weighed <- private_schema("ill", list(sex = c("f", "m")), positive = "yes", negative = "no", person = "id", weight = list(age = c(0, 80)))
check("weights", counted(private_glm(ill ~ ., visits, 1, 1e-6, weighed), 1L))
check("bought weights", verify(private_glm(ill ~ sex, visits, 4, 1e-6, "private", positive = "yes", weight = "age", weight_range = c(0, 80)))$valid)
visits$events <- rpois(nrow(visits), visits$age / 40)
over <- list(exposure = "age", exposure_range = c(18, 80), range = c(0, 20), counts = TRUE)
bought <- do.call(private_glm, c(list(events ~ sex, visits, 4, 1e-6, "private"), over))
check("bought exposure", verify(bought)$valid && jsonlite::fromJSON(bought$json)$certificate$constants$offset_bound > 0)
rates <- private_schema("events", list(sex = c("f", "m")), range = c(0, 20), counts = TRUE, exposure = list(age = c(18, 80)))
check("exposure", verify(private_glm(events ~ ., visits, 1, 1e-6, rates))$valid)
refused(private_schema("events", list(sex = c("f", "m")), range = c(0, 20), counts = TRUE, exposure = "age"), 2, "list(years = c(0.1, 10))")
visits$events <- NULL
of_rows <- private_schema("ill", list(age = c(18, 80), sex = c("f", "m"), id = NULL), positive = "yes", negative = "no")
said <- tryCatch(private_glm(ill ~ ., visits, 1, 1e-6, of_rows, rows_per_person = 2), warning = conditionMessage)
check("a warning of rows that nothing holds", is.character(said) && grepl("nothing enforces it", said, fixed = TRUE))
of_patients <- tempfile(fileext = ".ledger")
ledger_create(of_patients, epsilon = 2, delta = 1e-5, people = TRUE)
invisible(private_glm(ill ~ ., visits, 1, 1e-6, of_people, rows_per_person = 2, ledger = of_patients))
refused(private_glm(ill ~ ., visits, 0.5, 1e-6, of_rows, ledger = of_patients), 2, "counts people")
check("one entry of people", nrow(ledger_show(of_patients)$releases) == 1)
refused(ledger_create(tempfile(), 2, 1e-5, rows_per_person = 2, people = TRUE), 2, "people = TRUE")

# ---- What is printed of a day ----
refused(write_model(held, visits_csv), 2, "replace = TRUE")
days <- data.frame(since = as.Date("2000-01-01") + sample(7000, 4000, TRUE))
days$late <- ifelse(runif(4000) < plogis((as.numeric(days$since) - 14500) / 2000), "yes", "no")
of_days <- private_schema("late", list(since = as.Date(c("2000-01-01", "2020-01-01"))), positive = "yes", negative = "no")
of_days <- private_glm(late ~ since, days, 8, 1e-6, of_days)
check("digits of a day", any(grepl(formatC(coef(of_days)[["since"]], digits = 4, format = "g"), capture.output(print(of_days)), fixed = TRUE)))
