# Requests: certificates are checked, no redirect is followed, and what was paid for is sent again under its key.

pauses <- c(0, 0.2, 0.6, 1.8)

# What is answered at an address. `key` is the idempotency key of what is paid for; `once`: not sent again.
asked <- function(connection, method, path, body = NULL, key = NULL, once = FALSE) {
  if (!inherits(connection, "leakcap_connection")) refuse("`connection` must be what `leakcap_connect` returns.")
  # Made here, so that what is wrong with it is told, and not taken for a lost answer.
  request <- request_to(connection, method, path, body, key)
  told <- "it could not be reached"
  for (pause in if (once) 0 else pauses) {
    Sys.sleep(pause)
    answer <- tryCatch(httr2::req_perform(request), error = function(error) error)
    if (inherits(answer, "error")) next
    status <- httr2::resp_status(answer)
    found <- json_in(answer)
    if (!once && status %in% c(502L, 503L, 504L) && nobody_answered(found)) {
      told <- sprintf("it answers with status %d", status)
      next
    }
    wait <- suppressWarnings(as.numeric(httr2::resp_header(answer, "retry-after")))
    if (!once && status == 429L && length(wait) == 1L && !is.na(wait) && wait <= 10) {
      told <- "it takes no more requests for now"
      Sys.sleep(wait)
      next
    }
    return(fine(connection, status, found, key))
  }
  no_answer(connection, told, key)
}

fine <- function(connection, status, found, key) {
  if (status >= 200L && status < 300L) {
    if (status == 202L) found <- structure(found, waits = TRUE)
    return(found)
  }
  if (status < 400L) {
    refuse(sprintf("%s leads elsewhere (status %d), which is not followed.", connection$url, status),
           "leakcap_data_error")
  }
  if (status %in% c(500L, 504L)) no_answer(connection, sprintf("it answers with status %d", status), key)
  refuse_problem(status, found, key)
}

no_answer <- function(connection, told, key) {
  paid <- if (is.null(key)) "" else sprintf(paste(
    " Whether it was paid for, only the curator knows: ask again with `key = \"%s\"`, and it is paid for once."
  ), key)
  refuse(sprintf("No answer from %s: %s.%s", connection$url, told, paid), "leakcap_no_answer", key = key)
}

request_to <- function(connection, method, path, body, key) {
  asking <- httr2::request(paste0(connection$url, path))
  asking <- httr2::req_method(asking, method)
  asking <- httr2::req_options(asking, followlocation = FALSE)
  asking <- httr2::req_user_agent(asking, "leakcap-r")
  asking <- httr2::req_timeout(asking, connection$seconds)
  asking <- httr2::req_error(asking, is_error = function(answer) FALSE)
  if (!is.null(connection$certificate)) {
    # A key with a passphrase is refused: asked for one, it would wait at the terminal.
    asking <- httr2::req_options(asking, sslcert = connection$certificate, sslkey = connection$certificate,
                                 keypasswd = "")
  }
  token <- connection$token()
  if (!is.null(token)) {
    asking <- httr2::req_headers(asking, Authorization = paste("Bearer", token))
  }
  if (!is.null(key)) asking <- httr2::req_headers(asking, `Idempotency-Key` = key)
  if (is.null(body)) return(asking)
  text <- jsonlite::toJSON(body, auto_unbox = TRUE, digits = NA, null = "null")
  httr2::req_body_raw(asking, charToRaw(enc2utf8(as.character(text))), type = "application/json")
}

json_in <- function(answer) {
  type <- httr2::resp_content_type(answer)
  json <- isTRUE(type %in% c("application/json", "application/problem+json"))
  if (!json) {
    status <- httr2::resp_status(answer)
    if (status >= 200L && status < 300L && status != 204L) {
      refuse("What answers there is no curator: it does not speak JSON.", "leakcap_data_error")
    }
    return(NULL)
  }
  tryCatch(
    jsonlite::fromJSON(httr2::resp_body_string(answer), simplifyVector = FALSE),
    error = function(error) refuse("The curator's answer cannot be read: it is broken.", "leakcap_data_error")
  )
}

# Whether nobody with a say in it answered: a proxy did, or the engine is being started.
nobody_answered <- function(found) {
  type <- if (is.list(found)) found$type
  !is.character(type) || sub("^.*:", "", type) %in% c("engine-ended", "engine-unreachable")
}

# 128 random bits of the system: what `set.seed` gives would be the same key in each session.
new_key <- function() paste0("r-", paste(as.character(openssl::rand_bytes(16L)), collapse = ""))
