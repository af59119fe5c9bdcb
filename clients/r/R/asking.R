# Questions, and their answers as data frames.

leakcap_query <- function(statistic, column = NULL, ..., epsilon = NULL, rho = NULL, name = NULL, by = NULL,
                          where = NULL) {
  given <- list(name = if (is.null(name)) paste(c(statistic, column, by), collapse = " ") else name,
                statistic = statistic, column = column, epsilon = epsilon, rho = rho,
                by = if (!is.null(by)) as.list(as.character(by)), where = where, ...)
  listed <- intersect(names(given), c("edges", "join", "columns", "quantiles"))
  given[listed] <- lapply(given[listed], as.list)
  structure(Filter(Negate(is.null), given), class = "leakcap_query")
}

leakcap_ask <- function(connection, dataset, ..., fresh = FALSE, key = NULL) {
  queries <- several(...)
  answers <- paid(connection, dataset, list(queries = queries, fresh = fresh), key)
  if (length(answers) == 1L) answers[[1L]] else answers
}

leakcap_sql <- function(connection, dataset, sql, epsilon = NULL, rho = NULL, error = NULL, delta = NULL,
                        noise = NULL, fresh = FALSE, key = NULL) {
  body <- list(sql = sql, epsilon = epsilon, rho = rho, error = error, delta = delta, noise = noise,
               fresh = fresh)
  answers <- paid(connection, dataset, Filter(Negate(is.null), body), key)
  if (length(answers) == 1L) answers[[1L]] else answers
}

leakcap_count <- function(connection, dataset, epsilon = NULL, ..., fresh = FALSE, key = NULL) {
  leakcap_ask(connection, dataset, leakcap_query("count", epsilon = epsilon, ...), fresh = fresh, key = key)
}

of_column <- function(statistic) {
  function(connection, dataset, column, epsilon = NULL, ..., fresh = FALSE, key = NULL) {
    query <- leakcap_query(statistic, column, epsilon = epsilon, ...)
    leakcap_ask(connection, dataset, query, fresh = fresh, key = key)
  }
}

leakcap_sum <- of_column("sum")
leakcap_mean <- of_column("mean")
leakcap_variance <- of_column("variance")
leakcap_histogram <- of_column("histogram")
leakcap_quantiles <- of_column("quantiles")

leakcap_preview <- function(connection, dataset, ...) {
  asked(connection, "POST", path_of(dataset, "previews"), list(queries = several(...)))
}

several <- function(...) {
  queries <- list(...)
  if (length(queries) == 1L && is.list(queries[[1L]]) && !inherits(queries[[1L]], "leakcap_query")) {
    queries <- queries[[1L]]
  }
  fine <- length(queries) > 0L && all(vapply(queries, inherits, NA, "leakcap_query"))
  if (!fine) refuse("Ask with at least one `leakcap_query()`.")
  lapply(unname(queries), unclass)
}

# The answers to what is paid for, under a key of its own unless one is given.
paid <- function(connection, dataset, body, key) {
  if (is.null(key)) key <- new_key()
  fine <- is.character(key) && length(key) == 1L && nchar(key) <= 128L && grepl("^[!-~]+$", key, perl = TRUE)
  if (!fine) refuse("`key` must be 1 to 128 printable ASCII characters, no space.")
  if (!isTRUE(body$fresh)) body$fresh <- NULL
  told <- asked(connection, "POST", path_of(dataset, "releases"), body, key = key)
  if (isTRUE(attr(told, "waits"))) told <- waited(connection, told, key)
  lapply(told$releases, answer_frame, key = key, dataset = dataset)
}

# The answer of a job that nobody has to approve, once it has ended; else a condition that names the job.
waited <- function(connection, job, key) {
  needed <- number_or_na(job$needed)
  give_up <- Sys.time() + connection$seconds
  while (isTRUE(needed == 0) && isTRUE(job$state %in% c("queued", "running")) && Sys.time() < give_up) {
    Sys.sleep(min(1, connection$seconds))
    job <- leakcap_job(connection, job$id)
  }
  if (isTRUE(job$state == "done")) {
    return(asked(connection, "GET", paste0("/v1/jobs/", checked_job(job$id), "/answer")))
  }
  if (isTRUE(job$state == "failed") && is.list(job$problem)) {
    status <- number_or_na(job$problem$status)
    refuse_problem(if (is.na(status)) 500L else as.integer(status), job$problem, key)
  }
  spent <- if (isTRUE(needed == 0)) "It is paid for once." else "Nothing was spent."
  refuse(sprintf("There is no answer yet: job %s is %s. %s Later: leakcap_answer().",
                 text_or_na(job$id), text_or_na(job$state), spent),
         "leakcap_awaiting_approval", job = job$id, key = key)
}

# A released record as a data frame: the keys' columns, then value, lower and upper.
answer_frame <- function(record, key = NULL, dataset = NULL) {
  rows <- record$values
  columns <- unlist(record$columns)
  keys <- lapply(stats::setNames(columns, columns), function(name) {
    cells <- lapply(rows, function(row) row$keys[[name]])
    cells[vapply(cells, is.null, NA)] <- NA
    unlist(cells)
  })
  end <- function(place) vapply(rows, function(row) number_or_na(row$interval[[place]]), 0)
  numbers <- list(value = vapply(rows, function(row) number_or_na(row$value), 0), lower = end(1L), upper = end(2L))
  frame <- data.frame(c(keys, numbers), check.names = FALSE, stringsAsFactors = FALSE)
  structure(frame, class = c("leakcap_answer", "data.frame"), query = record$query, price = record$price,
            confidence = record$confidence, repeated = isTRUE(record$repeated), statement = record$statement,
            noise = record$noise, key = key, dataset = dataset)
}

print.leakcap_answer <- function(x, ...) {
  paid <- if (isTRUE(attr(x, "repeated"))) "repeated for free" else
    sprintf("for \u03b5 = %s", format(number_or_na(attr(x, "price")$epsilon)))
  if (is.character(attr(x, "query"))) cat(as_line(attr(x, "query")), ", ", paid, "\n", sep = "")
  print(as.data.frame(unclass(x), check.names = FALSE), ...)
  invisible(x)
}

path_of <- function(dataset, what = NULL) {
  fine <- is.character(dataset) && length(dataset) == 1L && grepl("^[a-z][a-z0-9_-]{0,63}$", dataset)
  if (!fine) refuse("`dataset` must be a name that `leakcap_datasets` lists.")
  paste(c("/v1/datasets", dataset, what), collapse = "/")
}
