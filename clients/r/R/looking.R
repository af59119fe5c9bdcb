# What costs nothing: data sets, policies, budgets, statements, jobs.

leakcap_datasets <- function(connection) {
  found <- asked(connection, "GET", "/v1/datasets")$datasets
  data.frame(name = vapply(found, function(one) text_or_na(one$name), ""),
             title = vapply(found, function(one) text_or_na(one$title), ""),
             roles = vapply(found, function(one) paste(unlist(one$roles), collapse = ", "), ""),
             paused = vapply(found, function(one) isTRUE(one$paused), NA))
}

leakcap_policy <- function(connection, dataset) {
  asked(connection, "GET", path_of(dataset))$policy
}

leakcap_budget <- function(connection, dataset) {
  caps <- asked(connection, "GET", path_of(dataset, "budget"))$caps
  numbers <- function(name) vapply(caps, function(one) number_or_na(one[[name]]), 0)
  data.frame(cap = vapply(caps, function(one) text_or_na(one$cap), ""),
             unit = vapply(caps, function(one) text_or_na(one$unit), ""),
             limit = numbers("limit"), spent = numbers("spent"), left = numbers("left"))
}

leakcap_statement <- function(connection, dataset) {
  lines <- asked(connection, "GET", path_of(dataset, "statement"))$lines
  vapply(lines, function(one) text_or_na(one$sentence), "")
}

leakcap_job <- function(connection, id) {
  asked(connection, "GET", paste0("/v1/jobs/", checked_job(id)))
}

leakcap_answer <- function(connection, id) {
  told <- asked(connection, "GET", paste0("/v1/jobs/", checked_job(id), "/answer"))
  answers <- lapply(told$releases, answer_frame, dataset = told$dataset)
  if (length(answers) == 1L) answers[[1L]] else answers
}

checked_job <- function(id) {
  fine <- is.character(id) && length(id) == 1L && grepl("^[0-9a-zA-Z_-]{1,64}$", id)
  if (!fine) refuse("`id` must be the number of a job, as the condition or the curator gives it.")
  id
}
