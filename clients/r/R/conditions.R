# What is refused, as conditions: tryCatch(..., leakcap_budget_exceeded = function(e) e$passed)

refuse <- function(message, class = "leakcap_invalid_parameter", ...) {
  stop(errorCondition(message, class = c(class, "leakcap_error"), call = NULL, ...))
}

# The condition of a problem document (RFC 9457): its type becomes the class.
refuse_problem <- function(status, problem, key) {
  problem <- if (is.list(problem)) problem else list()
  prefix <- "urn:leakcap:problem:"
  type <- if (is.character(problem$type) && length(problem$type) == 1L) problem$type else ""
  kind <- if (startsWith(type, prefix)) substring(type, nchar(prefix) + 1L) else "no-curator"
  kind <- if (grepl("^[a-z-]{1,60}$", kind)) gsub("-", "_", kind) else "no_curator"
  detail <- if (is.character(problem$detail)) {
    as_line(problem$detail)
  } else {
    sprintf("What answered (status %d) is no curator. Check the address.", as.integer(status))
  }
  if (status == 401) detail <- paste(detail, "`leakcap_login()` does that.")
  refuse(detail, paste0("leakcap_", kind),
         status = as.integer(status), problem = problem, key = key, passed = passed_in(problem))
}

passed_in <- function(problem) {
  passed <- problem$passed
  if (!is.list(passed) || length(passed) == 0L) return(NULL)
  data.frame(cap = vapply(passed, function(one) text_or_na(one$cap), ""),
             limit = vapply(passed, function(one) number_or_na(one$limit), 0),
             left = vapply(passed, function(one) number_or_na(one$left), 0),
             asked = vapply(passed, function(one) number_or_na(one$asked), 0))
}

# Text from elsewhere, without characters that steer a terminal.
as_line <- function(text) gsub("[[:cntrl:]]", " ", substr(enc2utf8(text), 1L, 2000L))
text_or_na <- function(x) if (is.character(x) && length(x) == 1L) as_line(x) else NA_character_
number_or_na <- function(x) if (is.numeric(x) && length(x) == 1L) as.numeric(x) else NA_real_
